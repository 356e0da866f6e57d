package words

import (
	"fmt"
	"strings"

	"github.com/skein-bot/skein/core"
)

//go:generate go run ./internal/generate

// Language is a language of the catalogue, as a value. The zero value is
// English. Its methods return the texts.
type Language struct {
	i int // index into tables
}

// table holds one language. The tables are generated and never written.
type table struct {
	tag, name string
	plural    func(n int) form
	texts     [size]text
}

// text is one entry: its plural forms, of which other is always there, or for a
// refusal its text and its remedy.
type text struct {
	other, one, few, many string
	remedy                string
}

func (l Language) table() *table { return &tables()[l.i] }

// Tag returns the language's BCP 47 tag, for example "de".
func (l Language) Tag() string { return l.table().tag }

// Name returns what the language calls itself, for example "Deutsch".
func (l Language) Name() string { return l.table().name }

// English returns the language that models, logs and programs read.
func English() Language { return Language{} }

// Shipped returns every language there is, English first.
func Shipped() []Language {
	out := make([]Language, len(tables()))
	for i := range out {
		out[i] = Language{i}
	}
	return out
}

// Tags returns the tags of the shipped languages, English first.
func Tags() []string {
	var out []string
	for _, l := range Shipped() {
		out = append(out, l.Tag())
	}
	return out
}

// Find returns the language for a BCP 47 tag in any case. A tag that says more
// than a catalogue does, such as "de-AT" or "es-419", finds the nearest one. An
// error is a *core.Error with the code language_unknown that names the shipped
// languages.
func Find(tag string) (Language, error) {
	for t := tag; wellFormed(tag) && t != ""; t = shorter(t) {
		for _, l := range Shipped() {
			if strings.EqualFold(l.Tag(), t) {
				return l, nil
			}
		}
	}
	return Language{}, core.Errorf("language_unknown", "no texts in the language %q are shipped", core.Clip(tag, 40)).
		WithRemedy("shipped: %s", shippedNames())
}

func shippedNames() string {
	var names []string
	for _, l := range Shipped() {
		names = append(names, fmt.Sprintf("%s (%s)", l.Tag(), l.Name()))
	}
	return strings.Join(names, ", ")
}

// shorter cuts the last subtag off.
func shorter(tag string) string {
	i := strings.LastIndexByte(tag, '-')
	return tag[:max(i, 0)]
}

// wellFormed tells whether tag is made of subtags of one to eight letters and
// digits.
func wellFormed(tag string) bool {
	for _, part := range strings.Split(tag, "-") {
		if len(part) < 1 || len(part) > 8 {
			return false
		}
		for _, c := range []byte(part) {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
				return false
			}
		}
	}
	return true
}
