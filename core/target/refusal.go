package target

import (
	"fmt"
	"strings"

	"github.com/skein-bot/skein/core"
)

// The codes of an Error.
const (
	CodeUnknown   = "target_unknown"
	CodeAmbiguous = "target_ambiguous"
)

// NameLimit is the longest name in a list of candidates, in characters.
const NameLimit = 60

// most is how many candidates are named.
const most = 8

// Error says that a token names nothing, or more than one target. It unwraps
// to the *core.Error that models and operators read.
type Error struct {
	// Token is what was written.
	Token string
	// Candidates are the several targets that it names; none: it names nothing.
	Candidates []Target
	// Near are those that could have been named, where it names nothing.
	Near []Target
}

// Code is CodeUnknown or CodeAmbiguous.
func (f *Error) Code() string {
	if len(f.Candidates) > 0 {
		return CodeAmbiguous
	}
	return CodeUnknown
}

// Error returns the plain English text with its remedy.
func (f *Error) Error() string { return f.plain().Error() }

// Unwrap returns the *core.Error with the code.
func (f *Error) Unwrap() error { return f.plain() }

func (f *Error) plain() *core.Error {
	token := core.Clip(f.Token, NameLimit)
	if len(f.Candidates) > 0 {
		names, more := Names(f.Candidates)
		return core.Errorf(CodeAmbiguous, "%q can be %s", token, join(names, more)).WithRemedy("write the number, the run id or the whole name")
	}
	err := core.Errorf(CodeUnknown, "nothing is called %q here", token)
	if len(f.Near) == 0 {
		return err.WithRemedy("there is no sub-agent to name at present")
	}
	names, more := Names(f.Near)
	return err.WithRemedy("there are %s", join(names, more))
}

func join(names []string, more int) string {
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// Names names some targets for a list, each by its label and its number or
// session, and counts the rest.
func Names(targets []Target) (names []string, more int) {
	for i, t := range targets {
		if i == most {
			return names, len(targets) - most
		}
		names = append(names, t.String())
	}
	return names, 0
}

// String names one of several targets.
func (t Target) String() string {
	name := fmt.Sprintf("%q", core.Clip(t.Label, NameLimit))
	switch {
	case t.Run.Ordinal > 0:
		return fmt.Sprintf("%s (%d)", name, t.Run.Ordinal)
	case t.Session.ID != 0:
		return fmt.Sprintf("%s (session:%d)", name, t.Session.ID)
	}
	return name
}
