package config

import (
	"fmt"
	"strconv"
	"strings"
)

// expectation says in words what a key takes.
func expectation(k *Key) string {
	switch k.Kind {
	case KindObject, KindMap:
		return "an object"
	case KindList:
		return "a list"
	case KindBoolean:
		return "true or false"
	case KindInteger:
		return "a whole number" + k.rangeInWords()
	case KindDecimal:
		return "a number" + k.rangeInWords()
	case KindEnum:
		return "one of " + strings.Join(quoteWords(k.Enum), ", ")
	case KindSecret:
		return `a secret such as "$NAME"`
	case KindAny:
		return "a value"
	}
	return "a string"
}

func (k *Key) rangeInWords() string {
	switch {
	case k.Min != nil && k.Max != nil:
		return fmt.Sprintf(" from %s to %s", decimal(*k.Min), decimal(*k.Max))
	case k.Min != nil:
		return fmt.Sprintf(" of at least %s", decimal(*k.Min))
	}
	return ""
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// quoteWords puts quotes around all words but the booleans, which are written
// without.
func quoteWords(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = quote(w); w == "true" || w == "false" {
			out[i] = w
		}
	}
	return out
}

// nearestWord returns the word that a misspelling most likely meant, or "".
func nearestWord(got string, words []string) string {
	best, bestDistance := "", 1+max(1, len([]rune(got))/3)
	for _, w := range words {
		if strings.EqualFold(got, w) {
			return w
		}
		if d := distance(strings.ToLower(got), strings.ToLower(w)); d < bestDistance {
			best, bestDistance = w, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours between two words.
func distance(from, to string) int {
	a, b := []rune(from), []rune(to)
	beforeLast, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i, ra := range a {
		row[0] = i + 1
		for j, rb := range b {
			cost := 1
			if ra == rb {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && ra == b[j-1] && a[i-1] == rb {
				row[j+1] = min(row[j+1], beforeLast[j-1]+1)
			}
		}
		beforeLast, last, row = last, row, make([]int, len(b)+1)
	}
	return last[len(b)]
}

// homeOf finds where else a key of this name belongs: the shortest path, if all
// places have the key from one declaration; else "".
func homeOf(name string) string {
	home, declaration, ambiguous := "", "", false
	var walk func(k *Key, path Path)
	walk = func(k *Key, path Path) {
		for _, f := range k.Fields {
			if f.Name == name && !f.Direct {
				ambiguous = ambiguous || declaration != "" && declaration != f.Struct
				declaration = f.Struct
				if at := path.String(); home == "" || strings.Count(at, ".") < strings.Count(home, ".") {
					home = at
				}
			}
			walk(f, path.Child(f.Name))
		}
		if k.Elem != nil && k.Kind == KindMap {
			walk(k.Elem, path.Child("<name>"))
		}
	}
	walk(Keys(), nil)
	if ambiguous {
		return ""
	}
	return strings.ReplaceAll(home, `["<name>"]`, ".<name>")
}
