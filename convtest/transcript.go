package convtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skein-bot/skein/channels/testserver"
)

// transcript writes down a conversation as it goes on, for -v. Its methods do
// nothing where nobody wants one.
type transcript struct {
	play *play
	out  *bytes.Buffer // nil for none
	seen map[spot]map[string]string
}

func newTranscript(p *play) *transcript {
	t := &transcript{play: p, seen: make(map[spot]map[string]string)}
	if p.opts.Verbose {
		t.out = new(bytes.Buffer)
	}
	return t
}

// text returns what was written down.
func (t *transcript) text() string {
	if t == nil || t.out == nil {
		return ""
	}
	return t.out.String()
}

// note writes what happened to the runtime.
func (t *transcript) note(what string) {
	if t != nil && t.out != nil {
		fmt.Fprintf(t.out, "%10s  --- %s\n", t.play.elapsed(), what)
	}
}

// look writes what is new in all places.
func (t *transcript) look() {
	if t == nil || t.out == nil {
		return
	}
	type entry struct {
		at spot
		testserver.Seen
		edited bool
	}
	var fresh []entry
	for _, s := range t.play.spots() {
		if t.seen[s] == nil {
			t.seen[s] = make(map[string]string)
		}
		for _, m := range s.server.Messages(s.at) {
			text, known := t.seen[s][m.ID]
			if known && text == m.Text {
				continue
			}
			t.seen[s][m.ID] = m.Text
			fresh = append(fresh, entry{s, m, known})
		}
	}
	slices.SortStableFunc(fresh, func(a, b entry) int { return a.At.Compare(b.At) })
	for _, e := range fresh {
		who := t.play.who(e.at, e.Seen)
		if e.edited {
			who += " (edited)"
		}
		fmt.Fprintf(t.out, "%10s  %s  %s: %s\n", since(e.At), title(e.at), who, indent(e.Text, 14))
	}
}

// who names the author of a message as the script does.
func (p *play) who(at spot, m testserver.Seen) string {
	if m.Own {
		return "bot"
	}
	for _, x := range p.script.People() {
		if at.server.UserID(x.Name) == m.By {
			return x.Name
		}
	}
	return m.By
}

// elapsed is the time since the start of the script.
func (p *play) elapsed() string { return since(p.stage.clock.Now()) }

func since(at time.Time) string { return "+" + at.Sub(start()).String() }

// indent keeps the lines of a text together.
func indent(text string, by int) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", by))
}
