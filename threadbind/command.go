package threadbind

import (
	"time"

	"github.com/skein-bot/skein/core"
)

// View is a binding with its clock, for people.
type View struct {
	Binding core.Binding
	// Limits are those in force, the record's own or the configured.
	Limits Limits
	// Next is the next deadline and Reason its kind; 0 for none at present.
	Next   core.Millis
	Reason core.EndReason
	// Busy tells that the session works, so that idle does not count.
	Busy bool
}

// View returns b with its clock. /agents, /session and `skein bindings`
// show it.
func (s *Service) View(tx Tx, b core.Binding) (View, error) {
	busy, since, err := tx.SessionBusy(b.Session)
	if err != nil {
		return View{}, err
	}
	b.BusyUntil = max(b.BusyUntil, since)
	limits := s.limits(b)
	v := View{Binding: b, Limits: limits.Of(b), Busy: busy}
	v.Next, v.Reason = Due(b, limits, busy)
	return v, nil
}

// Show returns the binding of exactly this place, for /session without a
// value. Everybody may look. It refuses with not_focused, and with
// bindings_disabled where there is none because of that.
func (s *Service) Show(tx Tx, at core.Address, now core.Millis) (View, Changes, error) {
	var c Changes
	b, err := s.focused(tx, at, now, &c)
	if err != nil {
		return View{}, c, err
	}
	v, err := s.View(tx, b)
	return v, c, err
}

// Unfocus ends the binding of exactly this place; its farewell is the answer
// to the command. It refuses with not_focused and not_owner.
func (s *Service) Unfocus(tx Tx, at core.Address, actor Actor, now core.Millis) (core.Binding, Changes, error) {
	return s.change(tx, at, actor, End{core.EndManual}, now)
}

// SetIdle sets the idle limit of the binding of exactly this place: 0 is off,
// nil goes back to the configured one. It refuses with not_focused and
// not_owner.
func (s *Service) SetIdle(tx Tx, at core.Address, actor Actor, limit *time.Duration, now core.Millis) (View, Changes, error) {
	return s.setLimit(tx, at, actor, SetIdle{limit}, now)
}

// SetMaxAge sets the age limit, in the same way. A limit that the binding is
// beyond already ends it.
func (s *Service) SetMaxAge(tx Tx, at core.Address, actor Actor, limit *time.Duration, now core.Millis) (View, Changes, error) {
	return s.setLimit(tx, at, actor, SetMaxAge{limit}, now)
}

func (s *Service) setLimit(tx Tx, at core.Address, actor Actor, ev Event, now core.Millis) (View, Changes, error) {
	b, c, err := s.change(tx, at, actor, ev, now)
	if err != nil {
		return View{}, c, err
	}
	if b, err = s.check(tx, b, now, &c); err != nil {
		return View{}, c, err
	}
	v, err := s.View(tx, b)
	return v, c, err
}

// End ends a live binding by its id, for `skein bindings end` and the API. It
// reports whether there was one.
func (s *Service) End(tx Tx, id string, reason core.EndReason, now core.Millis) (bool, Changes, error) {
	var c Changes
	b, found, err := tx.BindingByID(id)
	if err != nil || !found || !b.Status.Live() {
		return false, c, err
	}
	_, err = s.step(tx, b, End{reason}, now, &c)
	return err == nil, c, err
}

// change applies what an actor asks for to the binding of exactly this place.
func (s *Service) change(tx Tx, at core.Address, actor Actor, ev Event, now core.Millis) (core.Binding, Changes, error) {
	var c Changes
	b, err := s.focused(tx, at, now, &c)
	if err != nil {
		return b, c, err
	}
	switch {
	case actor.User == "":
		return b, c, refuseUnknownSender()
	case b.Owner == actor.User:
	case actor.Operator:
		c.Overrides = append(c.Overrides, Override{Binding: b, Operator: actor.User})
	default:
		return b, c, refuseNotOwner(b)
	}
	b, err = s.step(tx, b, ev, now, &c)
	return b, c, err
}

// focused returns the bound record of exactly this place.
func (s *Service) focused(tx Tx, at core.Address, now core.Millis, c *Changes) (core.Binding, error) {
	b, found, err := s.inForce(tx, at.Place(), now, c)
	if err != nil || found {
		return b, err
	}
	if set := s.settings(at); !set.Enabled {
		return b, refuseDisabled(set)
	}
	around, err := s.Peek(tx, at, now)
	switch {
	case err != nil:
		return b, err
	case around.Inherited:
		return b, refuseInherited()
	}
	return b, refuseNotFocused()
}
