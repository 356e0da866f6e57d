package intake

import (
	"slices"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
)

// Two bots that hear each other may answer each other for ever. After
// loopEvents events of a bot within loopWindow it is not heard for loopSilence.
const (
	loopEvents  = 20
	loopWindow  = time.Minute
	loopSilence = time.Minute
)

// talk is a bot and the account that hears it.
type talk struct{ channel, account, author string }

func talkOf(m core.Message) talk { return talk{m.Address.Channel, m.Address.Account, m.Author.ID} }

// loopGuard counts what bots say. It is memory only: a start begins anew. It is
// safe for use by many goroutines.
type loopGuard struct {
	mu    sync.Mutex
	talks map[talk]*pace
}

// pace is how often a bot spoke.
type pace struct {
	events []core.Millis // within the window, the oldest first
	until  core.Millis   // the end of its silence
}

func newLoopGuard() *loopGuard { return &loopGuard{talks: make(map[talk]*pace)} }

// silenced reports whether one more event is too many.
func (g *loopGuard) silenced(t talk, now core.Millis) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.talks[t]
	return p != nil && (now < p.until || p.full(now))
}

// note counts an event. The one that is too many begins the silence.
func (g *loopGuard) note(t talk, now core.Millis) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.talks[t]
	switch {
	case p == nil:
		g.forget(now)
		g.talks[t] = &pace{events: []core.Millis{now}}
	case now < p.until:
	case p.full(now):
		p.events, p.until = nil, now.Add(loopSilence)
	default:
		p.events = append(p.events, now)
	}
}

// full drops events before the window and reports whether it has room for no
// more.
func (p *pace) full(now core.Millis) bool {
	p.events = slices.DeleteFunc(p.events, func(at core.Millis) bool { return at <= now.Add(-loopWindow) })
	return len(p.events) >= loopEvents
}

// forget drops bots that have not been heard of for a while, so that the guard
// is as large as the number of those that speak.
func (g *loopGuard) forget(now core.Millis) {
	for t, p := range g.talks {
		if !p.full(now) && len(p.events) == 0 && p.until <= now {
			delete(g.talks, t)
		}
	}
}
