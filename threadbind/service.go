package threadbind

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/skein-bot/skein/core"
)

// Options wire a Service. Clock, Settings, Adapter and NewID are required.
type Options struct {
	Clock core.Clock
	// Settings resolves the configuration of an account. It is called inside
	// transactions: it must not block, and may answer differently after a
	// reload.
	Settings func(channel, account string) Settings
	// Adapter returns the binding ability of an account, nil if it has none or
	// is not configured. It must not block.
	Adapter func(channel, account string) core.BindingAdapter
	// NewID returns ids of bindings that nobody else names, ordered by time.
	NewID func() string
	// Hooks are the extensions; nil for none.
	Hooks *Hooks
	// Index, where there is one, answers for places without a binding. Only a
	// process that is alone on its store may have one.
	Index *Index
	// Log gets every start and end of a binding; nil discards.
	Log *slog.Logger
}

// Service runs the bindings of one runtime. Its methods may be called from many
// goroutines, each with its own transaction. The package comment has the rules
// of its transactions.
type Service struct {
	Options
}

// NewService returns a service on o.
func NewService(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{Options: o}
}

// The kinds of timer that the service sets.
const (
	// TimerArchive: the remote thread of an ended binding is to be archived.
	TimerArchive = "binding-archive"
	// TimerPurge: an ended record has been kept for long enough.
	TimerPurge = "binding-purge"
)

const (
	// archiveAfter lets the farewell go out first: a send un-archives.
	archiveAfter = 10 * time.Second
	// archiveRetry and archiveGiveUp pace the tries to archive a thread.
	archiveRetry  = time.Minute
	archiveGiveUp = 10 * time.Minute
)

// BatchLimit is the most records that one call of Sweep or Reload handles, so
// that it does not hold the store's writer for long.
const BatchLimit = 100

// Changes collects what a transaction did to bindings. After its commit they
// go to Committed; after a rollback they are thrown away.
type Changes struct {
	Bound     []core.Binding // became active, or were focused anew
	Ended     []core.Binding // with their reason
	Suspended []core.Binding
	Restored  []core.Binding   // active again: what their inbox holds may run
	Moved     []core.Binding   // have a new address
	Overrides []Override       // by operators, for the log
	Archive   []ArchiveRequest // threads to hand to Service.Archive
	// Wake is the earliest Due that was set, 0 for none: whoever sleeps until
	// the next deadline must not sleep longer.
	Wake core.Millis

	vacated []occupancy
}

// Override is an operator's change of somebody else's binding; Binding is what
// it was before.
type Override struct {
	Binding  core.Binding
	Operator string
}

// ArchiveRequest asks for the thread of an ended binding to be archived.
type ArchiveRequest struct {
	Binding string // its id
	Address core.Address
}

// occupancy is a place that a binding has left.
type occupancy struct {
	place core.Place
	id    string
}

// Add appends what other collected.
func (c *Changes) Add(other Changes) {
	c.Bound = append(c.Bound, other.Bound...)
	c.Ended = append(c.Ended, other.Ended...)
	c.Suspended = append(c.Suspended, other.Suspended...)
	c.Restored = append(c.Restored, other.Restored...)
	c.Moved = append(c.Moved, other.Moved...)
	c.Overrides = append(c.Overrides, other.Overrides...)
	c.Archive = append(c.Archive, other.Archive...)
	c.vacated = append(c.vacated, other.vacated...)
	c.wake(other.Wake)
}

func (c *Changes) wake(at core.Millis) {
	if at != 0 && (c.Wake == 0 || at < c.Wake) {
		c.Wake = at
	}
}

// Committed must be called after each commit with the changes of its
// transaction. It logs them and tells the hooks, and blocks for the hooks'
// deadlines at most; call it off the path of messages.
func (s *Service) Committed(ctx context.Context, c Changes) {
	if s.Index != nil {
		for _, v := range c.vacated {
			s.Index.Remove(v.place, v.id)
		}
	}
	for _, o := range c.Overrides {
		s.log(ctx, "an operator overrides the owner of a binding", o.Binding, "operator", o.Operator, "owner", o.Binding.Owner)
	}
	for _, b := range c.Bound {
		s.log(ctx, "binding active", b, "owner", b.Owner, "placement", b.Placement)
		s.Hooks.BindingCreated(ctx, b)
	}
	for _, b := range c.Suspended {
		s.log(ctx, "binding suspended", b, "cause", b.SuspendReason)
	}
	for _, b := range c.Restored {
		s.log(ctx, "binding restored", b)
	}
	for _, b := range c.Moved {
		s.log(ctx, "binding moved", b)
	}
	for _, b := range c.Ended {
		s.log(ctx, "binding ended", b, "reason", b.Reason.String())
		s.Hooks.BindingEnded(ctx, b)
	}
}

func (s *Service) log(ctx context.Context, text string, b core.Binding, args ...any) {
	s.Log.InfoContext(ctx, text, append([]any{"binding", b.ID, "address", b.Address.String(), "session", b.SessionKey}, args...)...)
}

func (s *Service) settings(at core.Address) Settings { return s.Settings(at.Channel, at.Account) }

func (s *Service) limits(b core.Binding) Limits { return s.settings(b.Address).Limits() }

// step applies ev to rec, stores the result and carries out the effects.
func (s *Service) step(tx Tx, rec core.Binding, ev Event, now core.Millis, c *Changes) (core.Binding, error) {
	next, effects, err := Apply(rec, ev, s.limits(rec), now)
	if err != nil {
		return rec, err
	}
	if err := tx.UpdateBinding(next); err != nil {
		return rec, err
	}
	for _, e := range effects {
		if err := s.perform(tx, next, e, now, c); err != nil {
			return rec, err
		}
	}
	return next, s.note(tx, rec, next, ev, c)
}

// perform carries out one effect.
func (s *Service) perform(tx Tx, b core.Binding, e Effect, now core.Millis, c *Changes) error {
	set := s.settings(b.Address)
	switch e.Kind {
	case EffectIntro:
		return tx.Post(b.Address, fmt.Sprintf("intro/%s/%d", b.ID, b.BoundAt), Intro(set.Language, b, set.Limits()))
	case EffectFarewell:
		return tx.Post(b.Address, "farewell/"+b.ID, Farewell(b, set))
	case EffectArchive:
		if set.OnEnd == OnEndArchive {
			return tx.SetTimer(TimerArchive, b.ID, now.Add(archiveAfter))
		}
	case EffectReschedule:
		c.wake(e.At)
	case EffectNotifyOwner:
		if parent := b.Address.ParentConversation(); !parent.Same(b.Address) {
			return tx.Post(parent, fmt.Sprintf("suspended/%s/%d", b.ID, now), SuspendedNotice(set.Language, b))
		}
	}
	return nil
}

// note records in c what the step from prev to next means for others.
func (s *Service) note(tx Tx, prev, next core.Binding, ev Event, c *Changes) error {
	_, refocused := ev.(Refocus)
	switch {
	case next.Status == core.BindingEnded:
		c.Ended = append(c.Ended, next)
		s.vacate(prev, c)
		return tx.SetTimer(TimerPurge, next.ID, s.keepUntil(next))
	case prev.Status == core.BindingPending && next.Status == core.BindingActive, refocused:
		c.Bound = append(c.Bound, next)
	case prev.Status == core.BindingActive && next.Status == core.BindingSuspended:
		c.Suspended = append(c.Suspended, next)
	case prev.Status == core.BindingSuspended && next.Status == core.BindingActive:
		c.Restored = append(c.Restored, next)
	}
	if !prev.Address.Same(next.Address) {
		s.vacate(prev, c)
		s.occupy(next)
		if prev.Status != core.BindingPending {
			c.Moved = append(c.Moved, next)
		}
	}
	return nil
}

// occupy tells the index of a place that is taken in a transaction. It may be
// rolled back: the index may know too many places, never too few.
func (s *Service) occupy(b core.Binding) {
	if s.Index != nil && hasPlace(b.Address) {
		s.Index.Put(b.Address.Place(), b.ID)
	}
}

// vacate has the index forget a place once the transaction is committed.
func (s *Service) vacate(b core.Binding, c *Changes) {
	if hasPlace(b.Address) {
		c.vacated = append(c.vacated, occupancy{b.Address.Place(), b.ID})
	}
}

// hasPlace tells whether a record is at a place; a pending child is not yet.
func hasPlace(at core.Address) bool { return at.Conversation != "" }

// insert writes a new record.
func (s *Service) insert(tx Tx, b core.Binding) error {
	if err := tx.InsertBinding(b); err != nil {
		return err
	}
	s.occupy(b)
	return nil
}
