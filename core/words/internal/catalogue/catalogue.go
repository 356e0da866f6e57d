// Package catalogue reads the files of package words and checks them against
// each other, for its generator and its tests. Nothing of it is in a program.
package catalogue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Base is the tag of the language that the others are held to.
const Base = "en"

// Catalogue is one language.
type Catalogue struct {
	Tag    string          `json:"-"`        // from the file's name
	Name   string          `json:"language"` // what it calls itself
	Plural string          `json:"plural"`   // a rule of Rules
	Same   []string        `json:"same"`     // texts that are meant to equal the English ones
	Texts  map[string]Text `json:"texts"`
}

// Text is one entry: a string is its Other form; an object has plural forms, or
// the text (Other) and the remedy of a refusal.
type Text struct {
	Other, One, Few, Many string
	Remedy                string
	Refusal               bool
}

// UnmarshalJSON reads the forms that the comment of Text names.
func (t *Text) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &t.Other) == nil {
		return nil
	}
	parts := map[string]string{}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	into := map[string]*string{"other": &t.Other, "one": &t.One, "few": &t.Few, "many": &t.Many}
	if _, t.Refusal = parts["remedy"]; t.Refusal {
		into = map[string]*string{"text": &t.Other, "remedy": &t.Remedy}
	}
	for name, s := range parts {
		if into[name] == nil {
			return fmt.Errorf("%q is no part of a text: other, one, few, many, or text with remedy", name)
		}
		*into[name] = s
	}
	return nil
}

// forms returns the wordings that are there, by their names.
func (t Text) forms() map[string]string {
	all := map[string]string{"other": t.Other, "one": t.One, "few": t.Few, "many": t.Many, "remedy": t.Remedy}
	maps.DeleteFunc(all, func(name, s string) bool { return s == "" && name != "other" && (name != "remedy" || !t.Refusal) })
	return all
}

// Rule is a plural rule: its function in package words, and the forms that a
// text with a {n:count} needs under it.
type Rule struct {
	Func  string
	Forms []string
}

// Rules returns the plural rules by their names.
func Rules() map[string]Rule {
	return map[string]Rule{
		"none":        {"pluralNone", []string{"other"}},
		"one":         {"pluralOne", []string{"one", "other"}},
		"one-million": {"pluralOneMillion", []string{"one", "other"}},
		"zero-one":    {"pluralZeroOne", []string{"one", "other"}},
		"slavic":      {"pluralSlavic", []string{"one", "few", "many", "other"}},
	}
}

// Load reads every language, the base first, and checks them. The error names
// everything that is wrong.
func Load(fsys fs.FS) ([]Catalogue, error) {
	files, err := fs.Glob(fsys, "*.json")
	if err != nil {
		return nil, err
	}
	var all []Catalogue
	var problems []error
	for _, file := range files {
		c, err := load(fsys, file)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
			continue
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b Catalogue) int {
		return strings.Compare(strings.TrimPrefix(a.Tag, Base), strings.TrimPrefix(b.Tag, Base))
	})
	if len(all) == 0 || all[0].Tag != Base {
		return nil, errors.Join(append(problems, fmt.Errorf("%s.json is missing or broken", Base))...)
	}
	for _, c := range all {
		for _, p := range check(all[0], c) {
			problems = append(problems, fmt.Errorf("%s.json: %s", c.Tag, p))
		}
	}
	return all, errors.Join(problems...)
}

func load(fsys fs.FS, file string) (Catalogue, error) {
	c := Catalogue{Tag: strings.TrimSuffix(path.Base(file), ".json")}
	src, err := fs.ReadFile(fsys, file)
	if err != nil {
		return c, err
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, err
	}
	return c, twice(src)
}

// twice finds names that stand in an object more than once: the last one would
// win in silence.
func twice(src []byte) error {
	d := json.NewDecoder(bytes.NewReader(src))
	type object struct {
		names map[string]bool // nil for a list
		value bool            // the next token is a value
	}
	var open []object
	for {
		token, err := d.Token()
		if err != nil {
			return nil //nolint:nilerr // the end; what is broken was found before
		}
		top := len(open) - 1
		name, isName := token.(string)
		isName = isName && top >= 0 && open[top].names != nil && !open[top].value
		if isName {
			if open[top].names[name] {
				return fmt.Errorf("%q stands there twice", name)
			}
			open[top].names[name], open[top].value = true, true
			continue
		}
		if top >= 0 {
			open[top].value = false
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, object{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
		}
	}
}
