package intake

import (
	"errors"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// ResetMode says by which rule a session starts over by itself.
type ResetMode string

// The reset modes. None is the default.
const (
	ResetNone  ResetMode = "none"
	ResetDaily ResetMode = "daily" // at an hour of the day
	ResetIdle  ResetMode = "idle"  // after a time without use
)

// ResetRules say when a session starts over by itself (session.reset).
type ResetRules struct {
	Mode   ResetMode
	AtHour int           // of ResetDaily, 0 to 23, in the agent's time zone
	Idle   time.Duration // of ResetIdle
}

// Use is when people last used a session: when a message of theirs last began a
// turn, and when that turn ended, 0 while it runs. Completions and what the
// runtime itself starts are no use.
type Use struct{ Asked, Answered core.Millis }

// Due reports whether a session that was last used so is to start over for a
// message that comes at now. It is a pure function. What nobody has used has
// nothing to forget.
func (r ResetRules) Due(last Use, now core.Millis, zone *time.Location) bool {
	if last.Asked == 0 {
		return false
	}
	switch r.Mode {
	case ResetIdle:
		return r.Idle > 0 && now.Sub(max(last.Asked, last.Answered)) >= r.Idle
	case ResetDaily:
		return last.Asked < core.ToMillis(latestHour(r.AtHour, now.Time().In(zone)))
	}
	return false
}

// latestHour returns the latest beginning of that hour of a day that is not
// after now, in now's zone.
func latestHour(hour int, now time.Time) time.Time {
	year, month, day := now.Date()
	for day++; ; day-- { // clocks that go back may show today what was tomorrow already
		if at := hourOf(year, month, day, hour, now.Location()); !at.After(now) {
			return at
		}
	}
}

// hourOf returns the first instant at which clocks show that hour of a day or a
// later one. Where the hour is left out as clocks go forward, that is when they
// do; where it comes twice, the first time.
func hourOf(year int, month time.Month, day, hour int, zone *time.Location) time.Time {
	wall := time.Date(year, month, day, hour, 0, 0, 0, time.UTC)
	// From before the day begins anywhere, one period of a constant offset after
	// the other.
	for at := wall.Add(-26 * time.Hour).In(zone); ; {
		_, offset := at.Zone()
		begin, end := at.ZoneBounds()
		first := wall.Add(-time.Duration(offset) * time.Second)
		if first.Before(begin) {
			first = begin
		}
		if end.IsZero() || first.Before(end) {
			return first.In(zone)
		}
		at = end
	}
}

// renew starts a session over if it is time to. It puts that off while the
// session works or waits for something, or is bound anywhere.
func (s *Service) renew(tx *store.Tx, session store.Session, m core.Message, now core.Millis) (store.Session, error) {
	rules := s.Config.Reset(m.Address.Channel, m.Kind, m.Address.Thread != "" || m.Address.Parent != "")
	if rules.Mode == ResetNone || rules.Mode == "" {
		return session, nil
	}
	last, err := tx.LastAsked(session)
	if err != nil {
		return session, ignore(err, store.ErrNotFound)
	}
	zone := s.Config.Zone(session.Agent)
	if zone == nil {
		zone = s.World.Clock.Now().Location()
	}
	if !rules.Due(Use{last.Started, last.Ended}, now, zone) {
		return session, nil
	}
	if engaged, err := engaged(tx, session); engaged || err != nil {
		return session, err
	}
	if ok, err := tx.ResetGeneration(session); !ok || err != nil {
		return session, err
	}
	s.Log.Info("a session starts over", "session", session.Key, "mode", rules.Mode, "last_asked", last.Started.Time())
	return tx.SessionByID(session.ID)
}

// engaged reports whether something of a session's history is still going on:
// a turn, what waits for one, a sub-agent, a binding.
func engaged(tx *store.Tx, session store.Session) (bool, error) {
	// From here on nobody can begin a turn of it.
	if err := tx.CheckFence(session.ID, session.Fence); err != nil {
		return errors.Is(err, store.ErrFenced), ignore(err, store.ErrFenced)
	}
	if busy, _, err := tx.SessionBusy(session.ID); busy || err != nil {
		return busy, err
	}
	if live, err := tx.CountLiveRunsOf(session.ID); live > 0 || err != nil {
		return live > 0, err
	}
	bound, err := tx.BindingsOfSession(session.ID)
	return len(bound) > 0, err
}

// ignore returns err unless it is the one that is no error here.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
