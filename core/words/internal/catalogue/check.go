package catalogue

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Param is a parameter of a text.
type Param struct{ Name, Type string }

// kinds returns the Go types of the kinds of placeholders.
func kinds() map[string]string {
	return map[string]string{
		"": "string", "quoted": "string", "detail": "string", "int": "int", "count": "count", "duration": "time.Duration", "age": "time.Duration",
		"time": "time.Time", "moment": "time.Time", "list": "[]string", "and": "[]string",
	}
}

var (
	keyPattern   = regexp.MustCompile(`^[a-z][a-z0-9]*([._-][a-z0-9]+)+$`)
	placePattern = regexp.MustCompile(`^([a-z][a-zA-Z]*)(?::([a-z]+))?$`)
)

// Params returns the parameters of a text in the order of their names, of all
// its forms together.
func (t Text) Params() ([]Param, error) {
	types := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(t.forms())) {
		if err := placeholders(t.forms()[name], types); err != nil {
			return nil, err
		}
	}
	var out []Param
	for _, name := range slices.Sorted(maps.Keys(types)) {
		out = append(out, Param{name, types[name]})
	}
	return out, nil
}

// placeholders adds the placeholders of a wording to types.
func placeholders(wording string, types map[string]string) error {
	for {
		_, rest, found := strings.Cut(wording, "{")
		if !found {
			return nil
		}
		if strings.HasPrefix(rest, "{") {
			wording = rest[1:]
			continue
		}
		inside, after, closed := strings.Cut(rest, "}")
		m := placePattern.FindStringSubmatch(inside)
		if !closed || m == nil {
			return fmt.Errorf("{%s is no placeholder; a brace alone is written {{", inside)
		}
		kind, known := kinds()[m[2]]
		if !known {
			return fmt.Errorf("{%s}: there is no kind %q", inside, m[2])
		}
		if before, ok := types[m[1]]; ok && before != kind {
			return fmt.Errorf("{%s} is of another type elsewhere in this text", m[1])
		}
		types[m[1]], wording = kind, after
	}
}

// check returns what is wrong with c, held to the base.
func check(base, c Catalogue) []string {
	var found []string
	add := func(key, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
	if c.Name == "" {
		add("language", "say what the language calls itself")
	}
	rule, ok := Rules()[c.Plural]
	if !ok {
		add("plural", "there is no rule %q; there are %s", c.Plural, strings.Join(slices.Sorted(maps.Keys(Rules())), ", "))
	}
	for _, key := range slices.Sorted(maps.Keys(base.Texts)) {
		if _, ok := c.Texts[key]; !ok {
			add(key, "is missing; in English: %q", base.Texts[key].Other)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Texts)) {
		t := c.Texts[key]
		english, ok := base.Texts[key]
		if !ok {
			add(key, "English does not have it")
			continue
		}
		for _, p := range checkText(key, t, english, rule.Forms) {
			add(key, "%s", p)
		}
		if same := slices.Contains(c.Same, key); c.Tag != Base && same != (t == english) {
			if same {
				add(key, `is listed under "same", but differs from English`)
			} else {
				add(key, `equals the English text; translate it, or list it under "same"`)
			}
		}
	}
	for i, key := range c.Same {
		if _, ok := base.Texts[key]; !ok || slices.Contains(c.Same[:i], key) {
			add("same", "%q is no text, or stands there twice", key)
		}
	}
	return found
}

// checkText returns what is wrong with one text.
func checkText(key string, t, english Text, forms []string) []string {
	var found []string
	if !keyPattern.MatchString(key) {
		found = append(found, "the name is not of the form room.text")
	}
	for name, wording := range t.forms() {
		// A separator of a list is nearly nothing, and its blanks count.
		if strings.TrimSpace(wording) == "" && !strings.HasPrefix(key, "list.") || wording == "" {
			found = append(found, fmt.Sprintf("the form %q is empty", name))
		}
	}
	if t.Refusal != english.Refusal || t.Refusal != strings.HasPrefix(key, "refuse.") {
		found = append(found, "text and remedy belong to a name that begins with refuse., and to no other")
	}
	params, err := t.Params()
	if err != nil {
		return append(found, err.Error())
	}
	if want, err := english.Params(); err == nil && !slices.Equal(params, want) {
		found = append(found, fmt.Sprintf("the placeholders are %v, in English %v", params, want))
	}
	counts := slices.ContainsFunc(params, func(p Param) bool { return p.Type == "count" })
	has := t.forms()
	for _, form := range forms {
		if _, ok := has[form]; counts && !ok {
			found = append(found, fmt.Sprintf("the plural form %q is missing", form))
		}
	}
	if !counts && (t.One != "" || t.Few != "" || t.Many != "") {
		found = append(found, "plural forms need a {name:count}")
	}
	if counts && t.Refusal {
		found = append(found, "a refusal has no plural forms; use {name:int}")
	}
	return found
}
