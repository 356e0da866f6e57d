package chat

import (
	"bufio"
	"errors"

	"golang.org/x/term"

	"github.com/skein-bot/skein/channels/console"
)

// input hands on what a person types, line by line: the next one is read only
// after next was called, so that a terminal's prompt is right when it begins.
type input struct {
	lines chan string   // closed at the end of the input
	tabs  chan struct{} // Tab on an empty line of a terminal
	ready chan struct{}
	left  chan struct{}
}

// input begins to read.
func (s *session) input() *input {
	in := &input{lines: make(chan string), tabs: make(chan struct{}, 1), ready: make(chan struct{}, 1), left: make(chan struct{})}
	read := s.plainLines()
	if s.Terminal != nil {
		s.Terminal.AutoCompleteCallback = in.key
		read = terminalLines(s.Terminal)
	}
	go func() {
		defer close(in.lines)
		for {
			line, ok := read()
			if !ok {
				return
			}
			select {
			case in.lines <- line:
			case <-in.left:
				return
			}
			select {
			case <-in.ready:
			case <-in.left:
				return
			}
		}
	}()
	return in
}

// next lets the next line be read.
func (in *input) next() { in.ready <- struct{}{} }

// leave ends the reader once its read returns.
func (in *input) leave() { close(in.left) }

// key takes a Tab on an empty line.
func (in *input) key(line string, _ int, key rune) (newLine string, newPos int, ok bool) {
	if key != '\t' || line != "" {
		return "", 0, false
	}
	select {
	case in.tabs <- struct{}{}:
	default:
	}
	return "", 0, true
}

// plainLines reads lines of any length that can be posted; what is longer ends
// the input.
func (s *session) plainLines() func() (string, bool) {
	scanner := bufio.NewScanner(s.In)
	scanner.Buffer(nil, console.PostLimit+2)
	return func() (string, bool) {
		ok := scanner.Scan()
		return scanner.Text(), ok
	}
}

// terminalLines reads lines that a person edits.
func terminalLines(t *term.Terminal) func() (string, bool) {
	return func() (string, bool) {
		line, err := t.ReadLine()
		return line, err == nil || errors.Is(err, term.ErrPasteIndicator)
	}
}
