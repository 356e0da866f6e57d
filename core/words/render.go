package words

import (
	"strconv"
	"strings"
	"time"
)

// key is the index of a text in every catalogue.
type key int

// arg is one argument of a text.
type arg struct {
	name  string
	value any
}

// raw is an argument that is put in as it is, whatever its placeholder asks
// for.
type raw string

// say returns a text with its arguments.
func (l Language) say(k key, args ...arg) string {
	c := l.table()
	f := formOther
	for _, a := range args {
		if n, ok := a.value.(count); ok {
			f = c.plural(int(n))
		}
	}
	return l.fill(f.of(c.texts[k]), args)
}

// count is a number that picks the plural form.
type count int

// fill puts the arguments into a wording, in one pass: what they hold is never
// read as a placeholder.
func (l Language) fill(wording string, args []arg) string {
	if !strings.ContainsRune(wording, '{') {
		return wording
	}
	var b strings.Builder
	for _, p := range split(wording) {
		if p.name == "" {
			b.WriteString(p.literal)
			continue
		}
		for _, a := range args {
			if a.name == p.name {
				b.WriteString(l.form(p.kind, a.value))
			}
		}
	}
	return b.String()
}

// piece is a part of a wording: a literal, or a placeholder with a name.
type piece struct{ literal, name, kind string }

// split takes a wording apart. The generator has checked that it can be.
func split(wording string) []piece {
	var out []piece
	for wording != "" {
		literal, rest, found := strings.Cut(wording, "{")
		if strings.HasPrefix(rest, "{") {
			out, wording = append(out, piece{literal: literal + "{"}), rest[1:]
			continue
		}
		if literal != "" {
			out = append(out, piece{literal: literal})
		}
		if !found {
			break
		}
		inside, after, _ := strings.Cut(rest, "}")
		name, kind, _ := strings.Cut(inside, ":")
		out, wording = append(out, piece{name: name, kind: kind}), after
	}
	return out
}

// form writes one argument in the form that its placeholder asks for.
func (l Language) form(kind string, value any) string {
	switch v := value.(type) {
	case raw:
		return string(v)
	case string:
		switch kind {
		case "quoted":
			return l.quoted(v)
		case "detail":
			return l.Recall(v)
		}
		return v
	case int:
		return strconv.Itoa(v)
	case count:
		return strconv.Itoa(int(v))
	case time.Duration:
		if kind == "age" {
			return l.age(v)
		}
		return l.Duration(v)
	case time.Time:
		return l.time(v, kind == "moment")
	case []string:
		if kind == "and" {
			return l.join(v, l.ListAndBetween(), l.ListAndLast())
		}
		return l.join(v, l.ListBetween(), l.ListBetween())
	}
	return ""
}

// join joins a list, the last item with a separator of its own.
func (l Language) join(items []string, between, last string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	n := len(items) - 1
	return strings.Join(items[:n], between) + last + items[n]
}

// quoted writes text in quotation marks; what cannot be seen is escaped.
func (l Language) quoted(s string) string {
	q := strconv.Quote(s)
	open, end := l.QuoteOpen(), l.QuoteClose()
	if open == `"` {
		return q
	}
	return open + strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`) + end
}
