package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
)

// The limits of one answer. A model that goes past one produces garbage, and
// the call ends as BadRequest: trying again would cost the same once more.
// Reasoning beyond MaxText is dropped and ends nothing.
const (
	MaxText  = 1 << 20  // bytes of visible text, and of what is kept of the arguments of all calls
	MaxArgs  = 16 << 20 // bytes of the arguments of all calls, with the files in them
	MaxCalls = 128      // calls in one message
)

// Options says how Collect watches a stream.
type Options struct {
	// Stall ends a call that gives no delta for that long (models.stallSeconds),
	// and one that has given only pings for maxPings times as long; time spent
	// in OnDelta does not count. 0 is no limit.
	Stall time.Duration
	// OnDelta, if not nil, sees every delta in order, in the calling
	// goroutine, its text valid UTF-8 and its call in stored form.
	OnDelta func(Delta)
}

// Collect makes one call and returns the answer as an Assistant item, without
// its time, and the usage. Turns call it; it blocks until the answer is whole,
// and runs the provider's sequence in the calling goroutine, which holds the
// unit of work.
//
// The error is the cause of ctx if ctx ended, else an *Error or what the
// provider gave: Truncated for a stream without its end mark, Network for a
// stall, BadRequest for an answer beyond the limits. Beside an error the item
// holds the text so far (cut at MaxText) and no calls, for those must not run.
//
// Call ids that are empty, or used before in the message or the request, are
// replaced, so that each call can be told from all others.
func Collect(ctx context.Context, clock core.Clock, p Provider, req Request, o Options) (Item, Usage, error) {
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := collector{taken: callIDs(req.Items), observe: o.OnDelta}
	watch := watchStall(clock, o.Stall, cancel)
	err := c.drain(call, p.Stream(call, req), watch)
	watch.end()
	switch {
	case ctx.Err() != nil && !c.done:
		err = context.Cause(ctx)
	case watch.err != nil && errors.Is(context.Cause(call), watch.err) && !c.done:
		err = watch.err
	case err == nil && !c.done:
		err = &Error{Class: Truncated, Err: errors.New("the stream ended without its end mark")}
	}
	return c.item(err != nil), c.usage, err
}

// collector gathers the deltas of one answer.
type collector struct {
	text, think joiner
	calls       []core.ToolCall
	thoughts    []Thought
	thoughtSize int
	argBytes    int
	taken       map[string]bool
	observe     func(Delta)
	usage       Usage
	done, cut   bool
}

// drain reads the stream until Done, an error, a limit or the end of ctx.
func (c *collector) drain(ctx context.Context, stream func(func(Delta, error) bool), watch *stallWatch) error {
	for d, err := range stream {
		watch.pause()
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // a provider that has not looked at its context
			return context.Cause(ctx)
		}
		if err := c.add(d); err != nil {
			return err
		}
		if c.done {
			return nil
		}
		watch.resume(d.Ping)
	}
	return nil
}

// add takes one delta in and shows it to the observer.
func (c *collector) add(d Delta) error {
	d.Text, d.Think = c.text.add(d.Text, d.Done), c.think.add(d.Think, d.Done)
	if d.Call != nil {
		call := c.stored(*d.Call)
		d.Call = &call
	}
	if d.Thought != nil {
		c.thoughtSize += len(d.Thought.Text) + len(d.Thought.Redacted)
		c.thoughts = append(c.thoughts, *d.Thought)
	}
	switch {
	case c.text.over:
		return tooLarge("text", MaxText)
	case c.argBytes > MaxArgs:
		return TooMuchArgs(MaxArgs)
	case len(c.calls) > MaxCalls:
		return &Error{Class: BadRequest, Err: fmt.Errorf("%w: more than %d tool calls in one message", ErrTooLarge, MaxCalls)}
	}
	if d.Done {
		c.done, c.cut, c.usage = true, d.Cut, d.Usage
	}
	if c.observe != nil {
		c.observe(d)
	}
	return nil
}

// TooMuchArgs is the error of an answer whose calls have more than limit bytes of
// arguments.
func TooMuchArgs(limit int) error { return tooLarge("tool arguments", limit) }

func tooLarge(what string, limit int) error {
	return &Error{Class: BadRequest, Err: fmt.Errorf("%w: more than %d bytes of %s", ErrTooLarge, limit, what)}
}

// stored brings a call into the form in which it is kept and adds it.
func (c *collector) stored(call core.ToolCall) core.ToolCall {
	call.Name, call.ID = Clean(call.Name), Clean(call.ID)
	c.argBytes += len(call.Args)
	if c.argBytes > MaxArgs {
		call.Args = nil
	}
	call.Args = Arguments(string(call.Args))
	for n := len(c.taken) + 1; call.ID == "" || c.taken[call.ID]; n++ {
		call.ID = fmt.Sprintf("call_%d", n)
	}
	c.taken[call.ID] = true
	c.calls = append(c.calls, call)
	return call
}

func (c *collector) item(failed bool) Item {
	i := Item{Kind: Assistant, Text: c.text.String(), Think: c.think.String(), Calls: c.calls, Cut: c.cut}
	if failed {
		i.Calls = nil
	}
	if len(i.Calls) > 0 && c.thoughtSize <= MaxText { // nobody wants those of a last word back
		i.Thoughts = c.thoughts
	}
	return i
}

// callIDs returns the ids that items use.
func callIDs(items []Item) map[string]bool {
	ids := make(map[string]bool)
	for _, i := range items {
		for _, c := range i.Calls {
			ids[c.ID] = true
		}
	}
	return ids
}

// joiner joins pieces of text to at most MaxText bytes of valid UTF-8. A
// character split over two pieces waits for its second half.
type joiner struct {
	strings.Builder
	half string
	over bool
}

// add takes a piece in and returns what of it is now known, cleaned; last
// flushes a half character.
func (j *joiner) add(piece string, last bool) string {
	if piece == "" && !(last && j.half != "") {
		return ""
	}
	piece, j.half = j.half+piece, ""
	if !last {
		n := wholeRunes(piece)
		piece, j.half = piece[:n], piece[n:]
	}
	piece = Clean(piece)
	if room := MaxText - j.Len(); len(piece) > room {
		j.over = true
		for room > 0 && !utf8.RuneStart(piece[room]) {
			room--
		}
		piece = piece[:room]
	}
	j.WriteString(piece)
	return piece
}

// wholeRunes returns the length of s without a character cut off at its end.
func wholeRunes(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return len(s) - n
			}
			break
		}
	}
	return len(s)
}

// stallWatch ends a call that has been silent for too long. Its nil timer
// means no limit.
type stallWatch struct {
	clock core.Clock
	timer core.Timer
	limit time.Duration
	since time.Time // of the last delta that was no ping
	err   error
	ended chan struct{}
}

// watchStall starts to watch. When the limit passes it cancels the call and
// then waits for its end, because its goroutine counts as work: the call,
// asleep on the clock, is thus counted again before the world can look quiet.
func watchStall(clock core.Clock, limit time.Duration, cancel context.CancelCauseFunc) *stallWatch {
	w := &stallWatch{clock: clock, limit: limit, since: clock.Now(), ended: make(chan struct{})}
	if limit <= 0 {
		return w
	}
	w.err = &Error{Class: Network, Err: fmt.Errorf("%w for %s (the limit is models.stallSeconds)", ErrStalled, limit)}
	w.timer = clock.AfterFunc(limit, func() {
		cancel(w.err)
		<-w.ended
	})
	return w
}

func (w *stallWatch) pause() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// maxPings is for how many limits a service may keep a call alive without a
// token.
const maxPings = 5

// resume watches on after a delta.
func (w *stallWatch) resume(ping bool) {
	if w.timer == nil {
		return
	}
	now, limit := w.clock.Now(), w.limit
	if !ping {
		w.since = now
	} else {
		limit = min(limit, max(w.since.Add(maxPings*w.limit).Sub(now), 0))
	}
	w.timer.Reset(limit)
}

// end stops the watch; it is called once.
func (w *stallWatch) end() {
	w.pause()
	close(w.ended)
}
