package app

import (
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/command"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/threadbind"
)

var _ command.Bindings = (*Bindings)(nil)

// Focus implements command.Bindings.
func (b *Bindings) Focus(tx *store.Tx, req command.FocusRequest) (subagent.Reservation, error) {
	target := core.TargetSession
	if req.Session.Kind.Spawned() {
		target = core.TargetSubagent
	}
	plan, c, err := b.service.Focus(b.tx(tx), threadbind.Request{
		At: req.At, Kind: req.Kind, Session: req.Session.ID, SessionKey: req.Session.Key, Target: target, Agent: req.Session.Agent,
		Label: req.Label, Actor: threadbind.Actor(req.Actor), Intent: req.Intent, Text: req.Text,
	}, b.o.World.Now())
	return reservation(plan), b.settle(tx, c, err)
}

// Unfocus implements command.Bindings.
func (b *Bindings) Unfocus(tx *store.Tx, at core.Address, actor command.Actor) (string, error) {
	before, _, err := tx.BindingAt(at.Place())
	if err != nil {
		return "", err
	}
	rec, c, err := b.service.Unfocus(b.tx(tx), at, threadbind.Actor(actor), b.o.World.Now())
	if err := b.settle(tx, c, err); err != nil {
		return "", err
	}
	return b.farewell(before, rec), nil
}

// farewell returns the words about a binding that a command ended, "" where its
// farewell in the same place says them.
func (b *Bindings) farewell(before, after core.Binding) string {
	if before.Status == core.BindingActive {
		return ""
	}
	return threadbind.Farewell(after, b.o.Settings(after.Address.Channel, after.Address.Account))
}

// Limit implements command.Bindings.
func (b *Bindings) Limit(tx *store.Tx, at core.Address, l command.Limit) (string, error) {
	v, c, err := b.service.Show(b.tx(tx), at, b.o.World.Now())
	if err := b.settle(tx, c, err); err != nil {
		return "", err
	}
	return b.limitText(l, v), nil
}

// SetLimit implements command.Bindings.
func (b *Bindings) SetLimit(tx *store.Tx, at core.Address, l command.Limit, value string, actor command.Actor) (string, error) {
	limit, err := threadbind.ParseDuration(value)
	if err != nil {
		return "", err
	}
	before, _, err := tx.BindingAt(at.Place())
	if err != nil {
		return "", err
	}
	set := b.service.SetIdle
	if l == command.LimitMaxAge {
		set = b.service.SetMaxAge
	}
	v, c, err := set(b.tx(tx), at, threadbind.Actor(actor), &limit, b.o.World.Now())
	if err := b.settle(tx, c, err); err != nil {
		return "", err
	}
	if v.Binding.Status == core.BindingEnded {
		return b.farewell(before, v.Binding), nil
	}
	return b.limitText(l, v), nil
}

// limitText words a limit in the time zone of the binding's agent.
func (b *Bindings) limitText(l command.Limit, v threadbind.View) string {
	zone := time.UTC
	if b.o.Zone != nil {
		if z := b.o.Zone(v.Binding.Agent); z != nil {
			zone = z
		}
	}
	w := b.words(v.Binding)
	if l == command.LimitMaxAge {
		return threadbind.MaxAgeText(w, v, b.o.World.Now(), zone)
	}
	return threadbind.IdleText(w, v, b.o.World.Now(), zone)
}

// words is the language in which people are spoken to where a binding is.
func (b *Bindings) words(rec core.Binding) words.Language {
	return b.o.Settings(rec.Address.Channel, rec.Address.Account).Language
}

// Expiry implements command.Bindings.
func (b *Bindings) Expiry(tx *store.Tx, rec core.Binding) (string, error) {
	now := b.o.World.Now()
	v, err := b.service.View(b.tx(tx), rec)
	return threadbind.ExpiryText(b.words(rec), v, now), err
}

// Bindable implements command.Bindings.
func (b *Bindings) Bindable(at core.Address) bool {
	adapter := b.o.Adapter(at.Channel, at.Account)
	return adapter != nil && b.o.Settings(at.Channel, at.Account).Enabled && len(adapter.BindingCapabilities(at).Placements) > 0
}
