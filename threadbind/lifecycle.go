package threadbind

import (
	"github.com/skein-bot/skein/core"
)

// Sweep handles up to limit records (at most BatchLimit) whose lower bound has
// come: it ends the expired ones and moves the bound of the others beyond now.
// The runtime calls it when the earliest bound comes, and at the start, before
// any turn runs; a smaller limit there, once a second, spares people a burst of
// farewells. More tells that it should be called again.
func (s *Service) Sweep(tx Tx, now core.Millis, limit int) (more bool, c Changes, err error) {
	limit = batch(limit)
	due, err := tx.BindingsDue(now, limit)
	if err != nil {
		return false, c, err
	}
	for _, b := range due {
		if _, err := s.check(tx, b, now, &c); err != nil {
			return false, c, err
		}
	}
	return len(due) == limit, c, nil
}

// Reload brings up to limit live records (at most BatchLimit) in line with
// changed limits, from the id after; next is where to go on, "" when all are
// done. Reads go by the new limits at once; this moves the timers, and ends
// what is expired by now. The runtime calls it after a reload, and after a
// start with other limits.
func (s *Service) Reload(tx Tx, after string, limit int, now core.Millis) (next string, c Changes, err error) {
	limit = batch(limit)
	live, err := tx.LiveBindings(after, limit)
	if err != nil {
		return after, c, err
	}
	for _, b := range live {
		if b.Status == core.BindingPending {
			continue
		}
		if _, err := s.check(tx, b, now, &c); err != nil {
			return after, c, err
		}
	}
	if len(live) == limit {
		next = live[len(live)-1].ID
	}
	return next, c, nil
}

// batch bounds a limit of records.
func batch(limit int) int { return max(1, min(limit, BatchLimit)) }

// check applies Check to a bound record.
func (s *Service) check(tx Tx, b core.Binding, now core.Millis, c *Changes) (core.Binding, error) {
	busy, err := s.busy(tx, &b, now)
	if err != nil {
		return b, err
	}
	return s.step(tx, b, Check{Busy: busy}, now, c)
}

// EndSession ends all bindings of a session as session-ended: it was deleted
// or archived, or a run with a thread of its own gave its answer.
func (s *Service) EndSession(tx Tx, session int64, now core.Millis) (Changes, error) {
	all, err := tx.BindingsOfSession(session)
	if err != nil {
		return Changes{}, err
	}
	return s.stepAll(tx, all, End{core.EndSessionEnded}, now)
}

// EndAccount ends up to BatchLimit bindings of an account that left the
// configuration; more tells that it should be called again.
func (s *Service) EndAccount(tx Tx, channel, account string, now core.Millis) (more bool, c Changes, err error) {
	some, err := tx.BindingsOfAccount(channel, account, BatchLimit)
	if err != nil {
		return false, c, err
	}
	c, err = s.stepAll(tx, some, End{core.EndAccountRemoved}, now)
	return len(some) == BatchLimit, c, err
}

// PlaceChanged does what an event of a conversation or thread means for the
// bindings there. Intake calls it in the transaction of the event. An event
// without a thread speaks of the whole conversation, its threads included.
// Archiving is not an end, and a new title means nothing here. Where a
// conversation migrates, the keys of its sessions must have been rewritten
// before, in the same transaction.
func (s *Service) PlaceChanged(tx Tx, e core.PlaceChange, now core.Millis) (Changes, error) {
	var ev Event
	switch e.Event {
	case core.PlaceDeleted:
		ev = End{core.EndThreadDeleted}
	case core.PlaceLocked:
		ev = Suspend{CauseClosed}
	case core.PlaceUnlocked:
		ev = Restore{CauseClosed}
	case core.PlacePermissionLost:
		ev = Suspend{CauseForbidden}
	case core.PlacePermissionRestored:
		ev = Restore{CauseForbidden}
	case core.PlaceMigrated:
		return s.migrate(tx, e.Address, e.To, now)
	default:
		return Changes{}, nil
	}
	affected, err := s.affected(tx, e.Address)
	if err != nil {
		return Changes{}, err
	}
	return s.stepAll(tx, affected, ev, now)
}

// SendFailed does what a failed send means for the binding at exactly its
// address: closed and forbidden suspend it, gone ends it. Delivery calls it in
// the transaction that records the failure. If a binding was there, b is what
// became of it; what could not be sent then goes to the conversation around
// it, once, after UndeliveredLine.
func (s *Service) SendFailed(tx Tx, at core.Address, class core.SendClass, now core.Millis) (b core.Binding, bound bool, c Changes, err error) {
	var ev Event
	switch class {
	case core.SendGone:
		ev = End{core.EndThreadDeleted}
	case core.SendClosed:
		ev = Suspend{CauseClosed}
	case core.SendForbidden:
		ev = Suspend{CauseForbidden}
	default:
		return b, false, c, nil
	}
	b, found, err := s.liveAt(tx, at.Place())
	if err != nil || !found || b.Status == core.BindingPending {
		return b, false, c, err
	}
	b, err = s.step(tx, b, ev, now, &c)
	return b, err == nil, c, err
}

// affected returns the live bindings that an event at an address is about.
func (s *Service) affected(tx Tx, at core.Address) ([]core.Binding, error) {
	if at.Thread == "" {
		return tx.BindingsUnder(at.Channel, at.Account, at.Conversation)
	}
	b, found, err := s.liveAt(tx, at.Place())
	if err != nil || !found {
		return nil, err
	}
	return []core.Binding{b}, nil
}

// stepAll applies one event to several live records. A pending one only ends:
// the place it waits for is not there to be suspended.
func (s *Service) stepAll(tx Tx, all []core.Binding, ev Event, now core.Millis) (Changes, error) {
	var c Changes
	for _, b := range all {
		if _, ends := ev.(End); !ends && b.Status == core.BindingPending {
			continue
		}
		if _, err := s.step(tx, b, ev, now, &c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// migrate rewrites the addresses of bindings when a conversation, or one
// thread, got another id.
func (s *Service) migrate(tx Tx, from, to core.Address, now core.Millis) (Changes, error) {
	var c Changes
	affected, err := s.affected(tx, from)
	if err != nil {
		return c, err
	}
	for _, b := range affected {
		ev := Moved{To: moved(b.Address, from, to)}
		if b.Session != 0 {
			if _, ev.SessionKey, err = tx.SessionLive(b.Session); err != nil {
				return c, err
			}
		}
		if err := s.move(tx, b, ev, now, &c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// move moves one record, unless somebody is bound at its new place already.
func (s *Service) move(tx Tx, b core.Binding, ev Moved, now core.Millis, c *Changes) error {
	other, taken, err := s.liveAt(tx, ev.To.Place())
	if err != nil {
		return err
	}
	if taken && other.ID != b.ID {
		_, err = s.step(tx, b, End{core.EndReplaced}, now, c)
		return err
	}
	_, err = s.step(tx, b, ev, now, c)
	return err
}

// moved returns at after from became to.
func moved(at, from, to core.Address) core.Address {
	out := at
	out.Channel, out.Account = to.Channel, to.Account
	if at.Conversation == from.Conversation {
		out.Conversation = to.Conversation
		if from.Thread != "" && at.Thread == from.Thread {
			out.Thread = to.Thread
		}
	}
	if at.Parent == from.Conversation && from.Thread == "" {
		out.Parent = to.Conversation
	}
	return out
}

// TimerFired handles a timer that Tx.SetTimer was asked for, in the
// transaction that consumes it. Threads in Changes.Archive go to Archive after
// the commit.
func (s *Service) TimerFired(tx Tx, kind, ref string, now core.Millis) (Changes, error) {
	var c Changes
	b, found, err := tx.BindingByID(ref)
	if err != nil || !found || b.Status != core.BindingEnded {
		return c, err
	}
	switch kind {
	case TimerArchive:
		err = s.archive(tx, b, now, &c)
	case TimerPurge:
		err = s.purge(tx, b, now)
	}
	return c, err
}

// archive asks for the thread of b to be archived, unless somebody is bound
// there again, and for another try should this one fail.
func (s *Service) archive(tx Tx, b core.Binding, now core.Millis, c *Changes) error {
	_, taken, err := s.liveAt(tx, b.Address.Place())
	if err != nil || taken || now >= b.EndedAt.Add(archiveGiveUp) {
		return err
	}
	c.Archive = append(c.Archive, ArchiveRequest{Binding: b.ID, Address: b.Address})
	return tx.SetTimer(TimerArchive, b.ID, now.Add(archiveRetry))
}

// Archived records that a thread was archived.
func (s *Service) Archived(tx Tx, r ArchiveRequest) error {
	return tx.SetTimer(TimerArchive, r.Binding, 0)
}

// purge deletes an ended record, or waits if it is to be kept for longer now.
func (s *Service) purge(tx Tx, b core.Binding, now core.Millis) error {
	if at := s.keepUntil(b); now < at {
		return tx.SetTimer(TimerPurge, b.ID, at)
	}
	return tx.DeleteBinding(b.ID)
}

// keepUntil returns when an ended record may be deleted.
func (s *Service) keepUntil(b core.Binding) core.Millis {
	return b.EndedAt.Add(s.settings(b.Address).KeepEnded)
}
