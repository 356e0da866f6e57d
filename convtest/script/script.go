package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Script is a parsed script.
type Script struct {
	// Name is the file, as it was given to Parse.
	Name  string
	Lines []Line
	// Files are what the archive holds, in its order.
	Files []File
}

// Line is one line that says something; comments and empty lines are left out.
type Line struct {
	No   int    // in the file, from 1
	Text string // as written, without space around it
	Do   Statement
}

// File is one file of the archive.
type File struct {
	Name string // with slashes, relative, never above the working directory
	Data []byte
}

// File returns the archive's file of that name.
func (s *Script) File(name string) (File, bool) {
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return s.Files[i], true
}

// Places returns every place that the lines name, each once, in the order of
// the lines. Threads may still be written $NAME.
func (s *Script) Places() []Place {
	var list []Place
	for _, l := range s.Lines {
		if p, ok := l.Do.(placed); ok {
			if at := p.place(); at != (Place{}) && !slices.Contains(list, at) {
				list = append(list, at)
			}
		}
	}
	return list
}

// Channels returns every channel that the lines name, each once, in the order
// of the lines.
func (s *Script) Channels() []string {
	var list []string
	add := func(name string) {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, l := range s.Lines {
		switch do := l.Do.(type) {
		case placed:
			add(do.place().Channel)
		case interface{ channel() string }:
			add(do.channel())
		}
	}
	return list
}

// People returns everybody who acts in the lines, each once, in the order of
// the lines, with the channels they act on. A person who is called owner or bot
// anywhere has the mark.
func (s *Script) People() []Person {
	var list []Person
	for _, l := range s.Lines {
		do, ok := l.Do.(acted)
		if !ok {
			continue
		}
		by := do.actor()
		i := slices.IndexFunc(list, func(p Person) bool { return p.Name == by.Name })
		if i < 0 {
			i = len(list)
			list = append(list, Person{User: User{Name: by.Name}, OwnerFrom: by.Owner})
		}
		p := &list[i]
		p.Owner, p.Bot = p.Owner || by.Owner, p.Bot || by.Bot
		if at, ok := l.Do.(placed); ok && at.place().Channel != "" && !slices.Contains(p.Channels, at.place().Channel) {
			p.Channels = append(p.Channels, at.place().Channel)
		}
	}
	return list
}

// Person is a user with what the whole script says about them.
type Person struct {
	User
	// OwnerFrom is set where they are owner from their first line on.
	OwnerFrom bool
	Channels  []string
}

// Error is one bad line.
type Error struct {
	File     string
	Line     int    // 0 where the fault is not in a line
	Text     string // the line
	Expected string
	Found    string // "" where the whole line is meant
}

// Error returns file:line, what was expected and what stands there.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": expected " + e.Expected)
	if e.Found != "" {
		b.WriteString(", found " + e.Found)
	}
	if e.Text != "" {
		b.WriteString("\n    " + e.Text)
	}
	return b.String()
}

// Errors returns the bad lines in an error of Parse.
func Errors(err error) []*Error {
	var one *Error
	var many interface{ Unwrap() []error }
	switch {
	case errors.As(err, &many):
		var list []*Error
		for _, e := range many.Unwrap() {
			list = append(list, Errors(e)...)
		}
		return list
	case errors.As(err, &one):
		return []*Error{one}
	}
	return nil
}
