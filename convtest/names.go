package convtest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/convtest/script"
)

// lookup resolves captures and ids for script.Expand.
func (p *play) lookup(r script.Ref) (string, bool) {
	if r.ID != "" {
		return p.id(r.ID)
	}
	v, ok := p.vars[r.Name]
	return v, ok
}

// expand replaces captures and ids in a text.
func (p *play) expand(s string) string { return script.Expand(s, p.lookup) }

// id returns the platform's id of what ${id:...} names: a place, a person, or
// person@channel. A person without a channel is meant where they act first,
// else on the first channel of the script.
func (p *play) id(name string) (string, bool) {
	if at, err := script.ParsePlace(name); err == nil {
		ch := p.channel(at.Channel)
		if ch == nil {
			return "", false
		}
		a := ch.server.Address(p.placeOf(at))
		if a.Thread != "" {
			return a.Thread, true
		}
		return a.Conversation, true
	}
	person, on, named := strings.Cut(name, "@")
	if !named {
		on = p.channels[0].name
		for _, x := range p.script.People() {
			if x.Name == person && len(x.Channels) > 0 {
				on = x.Channels[0]
			}
		}
	}
	ch := p.channel(on)
	if ch == nil {
		return "", false
	}
	return ch.server.UserID(person), true
}

// sender is how the configuration names a person.
func (p *play) sender(channel, name string) string {
	return channel + ":" + p.channel(channel).server.UserID(name)
}

// addOwner notes that a person is an owner wherever they act; it reports
// whether that is new.
func (p *play) addOwner(name string) bool {
	added := false
	for _, x := range p.script.People() {
		if x.Name != name {
			continue
		}
		for _, on := range x.Channels {
			if sender := p.sender(on, name); !slices.Contains(p.owners, sender) {
				p.owners = append(p.owners, sender)
				added = true
			}
		}
	}
	return added
}

// channel returns a channel of the script, nil if it is none.
func (p *play) channel(name string) *channel {
	for _, ch := range p.channels {
		if ch.name == name {
			return ch
		}
	}
	return nil
}

// placeOf is a place as test servers know it.
func (p *play) placeOf(at script.Place) testserver.Place {
	return testserver.Place{Account: p.expand(at.Account), Conversation: p.expand(at.Conversation), Thread: p.expand(at.Thread)}
}

// spot is a place on its channel.
type spot struct {
	*channel
	at testserver.Place
}

func (s spot) String() string {
	return script.Place{Channel: s.name, Account: s.at.Account, Conversation: s.at.Conversation, Thread: s.at.Thread}.String()
}

func (s spot) unseen() []testserver.Seen { return s.reader.Unseen(s.at) }

// resolve returns the spot of a place in a line.
func (p *play) resolve(at script.Place) spot { return spot{p.channel(at.Channel), p.placeOf(at)} }

// each returns the spots of a place: all threads of "/*", in order of their
// opening, else the one.
func (p *play) each(at script.Place) []spot {
	one := p.resolve(at)
	if !at.Each {
		return []spot{one}
	}
	var all []spot
	for _, t := range one.server.Threads(one.at) {
		thread := one
		thread.at.Thread = t.ID
		all = append(all, thread)
	}
	return all
}

// spots returns every conversation that the script names, each with its
// threads behind it.
func (p *play) spots() []spot {
	var all []spot
	for _, at := range p.script.Places() {
		at.Thread, at.Each = "", false
		s := p.resolve(at)
		if slices.Contains(all, s) {
			continue
		}
		all = append(all, s)
		at.Each = true
		all = append(all, p.each(at)...)
	}
	return all
}

// idempotent tells whether a channel's sends may be repeated.
func idempotent(ch *channel, s *stage) bool {
	settings, err := json.Marshal(ch.server.Config(defaultAccount))
	if err != nil {
		return false
	}
	adapter, err := ch.entry.New(channels.Options{
		Account: defaultAccount, Settings: settings, Clock: s.clock, HTTP: new(http.Client), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return false
	}
	defer channels.Close(adapter) //nolint:errcheck // it connected nothing
	return adapter.Describe().NativeIdempotency
}

// title names a thread for people, as in "console/main/t1 (cats)".
func title(s spot) string {
	for _, t := range s.server.Threads(testserver.Place{Account: s.at.Account, Conversation: s.at.Conversation}) {
		if t.ID == s.at.Thread && t.Title != "" {
			return fmt.Sprintf("%s (%s)", s, t.Title)
		}
	}
	return s.String()
}
