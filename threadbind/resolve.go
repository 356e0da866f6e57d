package threadbind

import "github.com/skein-bot/skein/core"

// Resolution is the answer of Resolve.
type Resolution struct {
	// Binding is in force at the address, if Found.
	Binding core.Binding
	Found   bool
	// Inherited is set where a thread follows the binding of the conversation
	// around it. The reply still goes to the thread.
	Inherited bool
	// Changes are to be committed with the message, whether or not Found.
	Changes Changes
}

// Held tells that the place cannot be written to at present: the message waits
// in the session's inbox until the binding is restored.
func (r Resolution) Held() bool { return r.Found && r.Binding.Status == core.BindingSuspended }

// MentionFree tells that a message here needs no mention of the bot: the thread
// or topic itself is bound. A whole group that is bound keeps its mention rule,
// also for the threads that inherit.
func (r Resolution) MentionFree() bool {
	return r.Found && !r.Inherited && inThread(r.Binding.Address)
}

// Resolve decides which binding a person's message at an address goes through,
// and touches it. Intake calls it inside its transaction, after the access
// decision and the commands; now is the time of arrival. A binding past its
// deadline or without a session ends here, with its farewell; the message then
// falls through to the binding of the conversation around the thread, and from
// there to the routes. With onLate "resume" an expired binding is made anew if
// its session still exists.
//
// A hit costs one probe of the binding index and one read of the session; a
// miss one probe, two in a thread, none with an Index.
func (s *Service) Resolve(tx Tx, at core.Address, now core.Millis) (Resolution, error) {
	var r Resolution
	for i, place := range scope(at) {
		b, found, err := s.inForce(tx, place, now, &r.Changes)
		if err == nil && !found && i == 0 {
			b, found, err = s.resume(tx, at, now, &r.Changes)
		}
		if err != nil {
			return Resolution{}, err
		}
		if !found {
			continue
		}
		busy, err := s.busy(tx, &b, now)
		if err != nil {
			return Resolution{}, err
		}
		if b, err = s.step(tx, b, MessageIn{Busy: busy}, now, &r.Changes); err != nil {
			return Resolution{}, err
		}
		if b.Status.Live() { // else the limits were reloaded a moment ago
			r.Binding, r.Found, r.Inherited = b, true, i > 0
			return r, nil
		}
	}
	return r, nil
}

// Peek is Resolve without any effect: through which binding a message at now
// would go. The mention gate and delivery call it. With onLate "resume" it may
// return an ended record, which a message would make anew.
func (s *Service) Peek(tx Tx, at core.Address, now core.Millis) (Resolution, error) {
	for i, place := range scope(at) {
		b, found, err := s.liveAt(tx, place)
		if err == nil && found {
			found, err = s.holds(tx, &b, now)
		}
		if err == nil && !found && i == 0 {
			b, found, err = s.resumable(tx, at, now)
		}
		if err != nil || found {
			return Resolution{Binding: b, Found: found, Inherited: i > 0}, err
		}
	}
	return Resolution{}, nil
}

// holds tells whether a live record is bound and not over.
func (s *Service) holds(tx Tx, b *core.Binding, now core.Millis) (bool, error) {
	if b.Status == core.BindingPending {
		return false, nil
	}
	reason, err := s.over(tx, b, now)
	return err == nil && reason == core.NotEnded, err
}

// Replied records that a reply of the bound session was delivered at an
// address. Delivery calls it in the transaction of the receipt; not for
// notices of the runtime. A binding past its deadline ends instead.
func (s *Service) Replied(tx Tx, at core.Address, now core.Millis) (Changes, error) {
	var c Changes
	for _, place := range scope(at) {
		b, found, err := s.liveAt(tx, place)
		if err != nil {
			return Changes{}, err
		}
		if !found || b.Status == core.BindingPending {
			continue
		}
		busy, err := s.busy(tx, &b, now)
		if err != nil {
			return Changes{}, err
		}
		_, err = s.step(tx, b, ReplyOut{Busy: busy}, now, &c)
		return c, err
	}
	return c, nil
}

// scope returns the places whose binding speaks for an address: itself, then
// the conversation around it.
func scope(at core.Address) []core.Place {
	places := []core.Place{at.Place()}
	if parent := at.ParentConversation(); !parent.Same(at) {
		places = append(places, parent.Place())
	}
	return places
}

// liveAt returns the live binding at a place.
func (s *Service) liveAt(tx Tx, place core.Place) (core.Binding, bool, error) {
	if place.Conversation == "" {
		return core.Binding{}, false, nil
	}
	if s.Index != nil {
		if _, ok := s.Index.Lookup(place); !ok {
			return core.Binding{}, false, nil
		}
	}
	return tx.BindingAt(place)
}

// inForce returns the bound record at a place. One that is over ends first and
// is not returned.
func (s *Service) inForce(tx Tx, place core.Place, now core.Millis, c *Changes) (core.Binding, bool, error) {
	b, found, err := s.liveAt(tx, place)
	if err != nil || !found || b.Status == core.BindingPending {
		return core.Binding{}, false, err
	}
	reason, err := s.over(tx, &b, now)
	if err != nil {
		return core.Binding{}, false, err
	}
	if reason == core.NotEnded {
		return b, true, nil
	}
	_, err = s.step(tx, b, End{reason}, now, c)
	return core.Binding{}, false, err
}

// over tells for which reason a bound record is over: a deadline that has
// come, or a session that is gone. It may move b.BusyUntil.
func (s *Service) over(tx Tx, b *core.Binding, now core.Millis) (core.EndReason, error) {
	busy, err := s.busy(tx, b, now)
	if err != nil {
		return core.NotEnded, err
	}
	if reason, expired := Expired(*b, s.limits(*b), busy, now); expired {
		return reason, nil
	}
	live, _, err := tx.SessionLive(b.Session)
	if err != nil || live {
		return core.NotEnded, err
	}
	return core.EndSessionEnded, nil
}

// busy tells whether the session of b works, and notes the end of its last
// work in b. It asks the store only where the answer matters: where b would be
// expired for idling.
func (s *Service) busy(tx Tx, b *core.Binding, now core.Millis) (bool, error) {
	if reason, expired := Expired(*b, s.limits(*b), false, now); !expired || reason != core.EndIdle {
		return false, nil
	}
	busy, since, err := tx.SessionBusy(b.Session)
	if err != nil {
		return false, err
	}
	b.BusyUntil = max(b.BusyUntil, since)
	return busy, nil
}

// resume binds the session of the binding that expired last at an address
// again, where onLate wants that.
func (s *Service) resume(tx Tx, at core.Address, now core.Millis, c *Changes) (core.Binding, bool, error) {
	old, found, err := s.resumable(tx, at, now)
	if err != nil || !found {
		return core.Binding{}, false, err
	}
	b := successor(old, s.NewID())
	b.Address = at
	if err := s.insert(tx, b); err != nil {
		return core.Binding{}, false, err
	}
	b, err = s.step(tx, b, Opened{Address: at, Data: old.Data}, now, c)
	return b, err == nil, err
}

// resumable returns the binding that expired last at an address, if a late
// message there makes it anew. It may be one that has not been ended yet.
func (s *Service) resumable(tx Tx, at core.Address, now core.Millis) (core.Binding, bool, error) {
	if !s.resumes(at, core.EndIdle) {
		return core.Binding{}, false, nil
	}
	b, found, err := s.liveAt(tx, at.Place())
	if err != nil {
		return core.Binding{}, false, err
	}
	var reason core.EndReason
	if found {
		reason, err = s.over(tx, &b, now)
	} else {
		b, found, err = tx.LastEnded(at.Place())
		reason = b.Reason
	}
	if err != nil || !found || !s.resumes(at, reason) {
		return core.Binding{}, false, err
	}
	live, _, err := tx.SessionLive(b.Session)
	return b, live, err
}

// resumes tells whether the settings make a binding anew that ended for
// reason: one that nobody ended on purpose.
func (s *Service) resumes(at core.Address, reason core.EndReason) bool {
	set := s.settings(at)
	return set.OnLate == LateResume && set.Enabled && (reason == core.EndIdle || reason == core.EndMaxAge)
}

// successor returns a pending record that points where old did, with its
// owner and its own limits.
func successor(old core.Binding, id string) core.Binding {
	return core.Binding{
		ID: id, Address: old.Address, Session: old.Session, SessionKey: old.SessionKey, Target: old.Target,
		Agent: old.Agent, Label: old.Label, Owner: old.Owner, Placement: old.Placement,
		Idle: old.Idle, MaxAge: old.MaxAge, Status: core.BindingPending, RunID: old.RunID,
	}
}
