package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
)

// progressAfter is how long work goes on before its progress is shown.
const progressAfter = time.Second

// progress shows on a terminal how far some long work has come. It writes to
// the standard error, nothing where that is no terminal, and nothing of work
// that is over within a second.
type progress struct {
	w     io.Writer // nil where nothing is shown
	clock core.Clock
	began time.Time
	what  string
	n, of int
	shown bool
}

// progress begins to show work on so many things.
func (e *env) progress(what string, of int) *progress {
	p := &progress{clock: e.clock, began: e.clock.Now(), what: what, of: of}
	if isTerminal(e.stderr) {
		p.w = e.stderr
	}
	return p
}

// step counts one thing.
func (p *progress) step() {
	p.n++
	if p.w == nil || p.clock.Now().Sub(p.began) < progressAfter {
		return
	}
	const width = 30
	full := width
	if p.of > 0 {
		full = min(width*p.n/p.of, width)
	}
	fmt.Fprintf(p.w, "\r[%s%s] %d of %d %s", strings.Repeat("#", full), strings.Repeat(".", width-full), p.n, p.of, p.what)
	p.shown = true
}

// done removes the bar. It may be called more than once.
func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
