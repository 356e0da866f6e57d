package words

import (
	"errors"

	"github.com/skein-bot/skein/core"
)

// refusal is what an error made by a Refuse function says, in any language.
type refusal struct {
	key  key
	args []arg
}

var _ core.Wording = refusal{}

// refusalError makes the error. Its own text and remedy are English.
func refusalError(code string, k key, args ...arg) *core.Error {
	r := refusal{k, args}
	text, remedy := r.in(Language{})
	return &core.Error{Code: code, Text: text, Remedy: remedy, Wording: r}
}

func (r refusal) in(l Language) (text, remedy string) {
	t := l.table().texts[r.key]
	return l.fill(t.other, r.args), l.fill(t.remedy, r.args)
}

// Words implements core.Wording.
func (r refusal) Words(tag string) (text, remedy string) {
	l, err := Find(tag)
	if err != nil {
		return r.in(Language{})
	}
	return r.in(l)
}

// Refusal words an error for people: what failed, what to do, and the code to
// look it up by; without its cause. An error that is no *core.Error, or that
// has no other wording, is worded in English.
func (l Language) Refusal(err error) string {
	var e *core.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text, remedy := e.Text, e.Remedy
	if e.Wording != nil {
		text, remedy = e.Wording.Words(l.Tag())
	}
	if remedy == "" {
		return text + " [" + e.Code + "]"
	}
	return text + " (" + remedy + ") [" + e.Code + "]"
}
