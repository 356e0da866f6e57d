package convtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/convtest/script"
)

// sentWindow is what `sent` lines of a channel have looked at. Lines that
// follow each other look at the same requests: those since the last such lines
// before them. A request that one has matched is not there for the next.
type sentWindow struct {
	line    int // the index of the last such line
	from    int // the first request of the window
	end     int // behind the last request that a line could see
	matched map[int]bool
}

// requests returns those that the line at an index may see.
func (w *sentWindow) requests(server testserver.Server, line int) []testserver.Request {
	if w.matched == nil || w.line != line-1 {
		w.from, w.matched = w.end, make(map[int]bool)
	}
	w.line = line
	all := server.Requests(w.from)
	w.end = w.from + len(all)
	var left []testserver.Request
	for _, r := range all {
		if !w.matched[r.N] {
			left = append(left, r)
		}
	}
	return left
}

// sent plays `sent` and `sent!`.
func (p *play) sent(do script.Sent) error {
	re, err := do.Pattern.Compile(p.lookup)
	if err != nil {
		return err
	}
	ch := p.channel(do.Channel)
	left := ch.sent.requests(ch.server, p.current)
	for _, r := range left {
		if !r.Is(do.Method) || !re.Match(r.JSON) {
			continue
		}
		if do.Not {
			if p.killed() && repeated(ch, r) {
				continue
			}
			return unsent(left, do.Method, fmt.Sprintf("no request %s on %s that matches %s", do.Method, do.Channel, do.Pattern))
		}
		ch.sent.matched[r.N] = true
		return nil
	}
	if do.Not {
		return nil
	}
	return unsent(left, do.Method, fmt.Sprintf("a request %s on %s that matches %s", do.Method, do.Channel, do.Pattern))
}

// repeated tells a request that repeats an earlier one word for word, as after
// a kill whoever does not know that it arrived.
func repeated(ch *channel, r testserver.Request) bool {
	for _, earlier := range ch.server.Requests(0) {
		if earlier.N < r.N && earlier.Native == r.Native && string(earlier.JSON) == string(r.JSON) {
			return true
		}
	}
	return false
}

// unsent is a failure about requests: it shows those of the method, or what
// other methods there were.
func unsent(list []testserver.Request, method, expected string) error {
	e := &expectError{expected: expected}
	var others []string
	for _, r := range list {
		if r.Is(method) {
			e.seen = append(e.seen, fmt.Sprintf("%s %s", r.Native, r.JSON))
		} else if !slices.Contains(others, r.Native) {
			others = append(others, r.Native)
		}
	}
	if len(e.seen) > 0 {
		return e
	}
	e.seen = []string{"no such request since the last such line"}
	if len(others) > 0 {
		e.seen = append(e.seen, "but these: "+strings.Join(others, " "))
	}
	return e
}
