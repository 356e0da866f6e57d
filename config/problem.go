package config

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// Problem is one thing that is wrong, or doubtful, in a configuration.
type Problem struct {
	Pos  json5.Pos // where; the nearest place that exists, for a missing key
	Path string    // the key, such as agents.entries.main.model

	// Either Expected and Found, or Message, says what is wrong.
	Expected string // what would be right
	Found    string // what is there
	Message  string

	Suggestion string // what to do; may be empty
}

// String returns one line: file:line:column: key: what is wrong (suggestion).
func (p Problem) String() string {
	var b strings.Builder
	if at := p.Pos.String(); at != "" {
		b.WriteString(at + ": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	switch {
	case p.Message != "":
		b.WriteString(p.Message)
	case p.Found == "":
		b.WriteString("expected " + p.Expected)
	default:
		b.WriteString("expected " + p.Expected + ", found " + p.Found)
	}
	if p.Suggestion != "" {
		b.WriteString(" (" + p.Suggestion + ")")
	}
	return b.String()
}

// InvalidError is the error that Load, Parse and Decode return for a
// configuration that cannot be used: everything that is wrong with it, in the
// order of the file.
type InvalidError []Problem

// Error returns one line for each problem.
func (e InvalidError) Error() string { return lines(e) }

// Warnings are problems that do not keep a configuration from being used.
type Warnings []Problem

// String returns one line for each warning.
func (w Warnings) String() string { return lines(w) }

func lines(problems []Problem) string {
	out := make([]string, len(problems))
	for i, p := range problems {
		out[i] = p.String()
	}
	return strings.Join(out, "\n")
}

// inFileOrder sorts by file, line and column, keeping the order of equals.
func inFileOrder(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
}

// syntaxProblems turns what the JSON5 parser reports into problems.
func syntaxProblems(err error) InvalidError {
	var faults json5.Errors
	if !errors.As(err, &faults) {
		return InvalidError{{Message: err.Error()}}
	}
	problems := make(InvalidError, len(faults))
	for i, f := range faults {
		problems[i] = Problem{Pos: f.Pos, Message: f.Message, Suggestion: f.Hint}
	}
	inFileOrder(problems)
	return problems
}

// Path is where a value stands in a configuration: keys, and indices of lists.
type Path []string

// Child returns the path one step further; the receiver is not changed.
func (p Path) Child(step string) Path {
	return append(p[:len(p):len(p)], step)
}

// String joins the steps by dots; an index is written [0], a key that is not a
// plain word ["like this"].
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch {
		case strings.HasPrefix(step, "["):
			b.WriteString(step)
		case !plainKey.MatchString(step):
			b.WriteString("[" + quote(step) + "]")
		case b.Len() > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	return b.String()
}
