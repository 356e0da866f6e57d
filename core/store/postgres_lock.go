package store

import (
	"cmp"
	"errors"
	"slices"

	"github.com/skein-bot/skein/core"
)

// LockSession makes the unit the only one that reads or changes the work of a
// session until it ends. The methods of Tx that read such work in order to
// decide do it themselves; a unit that will touch several sessions locks them
// here first, in ascending order, so that two units never wait for each other.
// A session that is gone is no error. On SQLite, where units run one after the
// other, it does nothing.
func (tx *Tx) LockSession(ids ...int64) error {
	if tx.unit == nil {
		return nil
	}
	if len(ids) > 1 {
		ids = slices.Sorted(slices.Values(ids))
	}
	for _, id := range ids {
		if id == 0 || slices.Contains(tx.unit.locked, id) {
			continue
		}
		var have int64
		if err := tx.one(`SELECT id FROM session WHERE id = $1 FOR UPDATE`, []any{id}, &have); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		tx.db.pg.holds(tx.unit, id)
	}
	return nil
}

// locked reads one row that belongs to a session in a unit: the session is
// locked first, then the row is read again, as it may have changed meanwhile.
func locked[T any](tx *Tx, read func() (T, error), session func(T) int64) (T, error) {
	v, err := read()
	if err != nil || tx.unit == nil || slices.Contains(tx.unit.locked, session(v)) {
		return v, err
	}
	if err := tx.LockSession(session(v)); err != nil {
		return v, err
	}
	return read()
}

// forUpdate is the end of a query for one row that the unit will write whole.
func (tx *Tx) forUpdate() string {
	if tx.unit == nil {
		return ""
	}
	return " FOR UPDATE"
}

// lockTree makes the unit the only one that adds to a tree of runs until it
// ends; see LockSession.
func (tx *Tx) lockTree(root string) error {
	if tx.unit == nil || root == "" {
		return nil
	}
	return tx.later(`SELECT pg_advisory_xact_lock($1, hashtext($2))`, treeLocks, root)
}

// treeLocks is the class of the advisory locks of trees.
const treeLocks = 0x5ce1

// lockBinding reads a binding again that a unit may write, with its session and
// its own row locked. ok is false if it is not what keep wants any more.
func (tx *Tx) lockBinding(b core.Binding, keep func(core.Binding) bool) (core.Binding, bool, error) {
	if tx.unit == nil {
		return b, true, nil
	}
	if err := tx.LockSession(b.Session); err != nil {
		return b, false, err
	}
	now, ok, err := optional(first(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE id = $1 FOR UPDATE`, b.ID))
	return now, ok && keep(now), err
}

// bindingLocked reads one binding in a unit that may write it: its session is
// locked, then its row, and it is read until what it is has settled.
func (tx *Tx) bindingLocked(read func() (core.Binding, error)) (b core.Binding, ok bool, err error) {
	for {
		if b, ok, err = optional(read()); !ok || tx.unit == nil {
			return b, ok, err
		}
		if _, _, err := tx.lockBinding(b, bindingLive); err != nil {
			return b, false, err
		}
		again, ok, err := optional(read()) // nothing moves it now
		if !ok || err != nil || again.ID == b.ID && again.Session == b.Session {
			return again, ok, err
		}
	}
}

// lockBindings is lockBinding for a list, whose order it keeps.
func (tx *Tx) lockBindings(list []core.Binding, err error, keep func(core.Binding) bool) ([]core.Binding, error) {
	if err != nil || tx.unit == nil {
		return list, err
	}
	sessions := make([]int64, 0, len(list))
	for _, b := range list {
		sessions = append(sessions, b.Session)
	}
	if err := tx.LockSession(sessions...); err != nil {
		return nil, err
	}
	byID := slices.Clone(list)
	slices.SortFunc(byID, func(a, b core.Binding) int { return cmp.Compare(a.ID, b.ID) })
	now := make(map[string]core.Binding, len(list))
	for _, b := range byID {
		again, ok, err := tx.lockBinding(b, keep)
		if err != nil {
			return nil, err
		}
		if ok {
			now[b.ID] = again
		}
	}
	out := list[:0]
	for _, b := range list {
		if again, ok := now[b.ID]; ok {
			out = append(out, again)
		}
	}
	return out, nil
}

func bindingLive(b core.Binding) bool { return b.Status != core.BindingEnded }

// attempt runs statements whose failure the unit survives: on PostgreSQL a
// failed statement ends a transaction but for a savepoint.
func (tx *Tx) attempt(fn func() error) error {
	if tx.unit == nil {
		return fn()
	}
	if _, err := tx.exec(`SAVEPOINT attempt`); err != nil {
		return err
	}
	err := fn()
	end := `RELEASE SAVEPOINT attempt`
	if err != nil {
		end = `ROLLBACK TO SAVEPOINT attempt`
	}
	if _, undo := tx.exec(end); undo != nil {
		return errors.Join(err, undo)
	}
	return err
}
