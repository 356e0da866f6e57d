package json5

import "strings"

// Error says what is wrong at one place of a document.
type Error struct {
	Pos     Pos
	Message string // what was expected and what was found
	Hint    string // what to do about it; may be empty
}

// Error returns file:line:column: message (hint).
func (e *Error) Error() string {
	var b strings.Builder
	if at := e.Pos.String(); at != "" {
		b.WriteString(at + ": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Errors is what Parse returns for a document that cannot be used: every
// duplicate key, and at most one fault of syntax, since nothing that follows
// such a fault can be trusted.
type Errors []*Error

// Error returns one line for each error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}
