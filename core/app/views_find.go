package app

import (
	"errors"
	"strconv"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// candidates is how many of the things that an ambiguous name may mean an
// error lists.
const candidates = 5

// findSession finds a session by what people write: its key, its number,
// `session:<number>`, or a beginning of its key that no other has; one in use
// goes before archived ones.
func findSession(tx *store.Tx, ref string) (store.Session, error) {
	number := strings.TrimPrefix(ref, "session:")
	if id, err := strconv.ParseInt(number, 10, 64); err == nil {
		row, err := tx.SessionByID(id)
		if !errors.Is(err, store.ErrNotFound) {
			return row, err
		}
		return row, unknown("session", ref)
	}
	row, err := tx.SessionByKey(ref)
	if !errors.Is(err, store.ErrNotFound) {
		return row, err
	}
	rows, err := tx.SessionsByPrefix(ref, candidates+1)
	if err != nil {
		return row, err
	}
	if len(rows) > 1 && rows[0].ArchivedAt == 0 && rows[1].ArchivedAt != 0 {
		rows = rows[:1]
	}
	return onlyOne("session", ref, rows, func(s store.Session) string { return s.Key })
}

// findTask finds a run by its task id, its run id, a beginning of one of them
// that no other has, or as the newest of a session by its key.
func findTask(tx *store.Tx, ref string) (core.Run, error) {
	if strings.Contains(ref, ":") {
		return taskOfSession(tx, ref)
	}
	ref = strings.ToUpper(ref)
	if ref == "" {
		return core.Run{}, unknown("task", ref)
	}
	tasks, err := tx.TasksByPrefix(ref, candidates+1)
	if err != nil {
		return core.Run{}, err
	}
	runs, err := tx.RunsByPrefix(ref, candidates+1)
	if err != nil {
		return core.Run{}, err
	}
	found := tasks
	for _, run := range runs {
		if !contains(tasks, run.ID) {
			found = append(found, run)
		}
	}
	return onlyOne("task", ref, found, func(r core.Run) string { return r.TaskID + " (" + r.Name() + ")" })
}

func taskOfSession(tx *store.Tx, ref string) (core.Run, error) {
	session, err := findSession(tx, ref)
	if err != nil {
		return core.Run{}, err
	}
	run, err := tx.LatestRunOfSession(session.ID)
	if errors.Is(err, store.ErrNotFound) {
		return run, core.Errorf("task_unknown", "no task was given to the session %q", session.Key).WithRemedy("`skein tasks` lists them")
	}
	return run, err
}

func contains(runs []core.Run, id string) bool {
	for _, r := range runs {
		if r.ID == id {
			return true
		}
	}
	return false
}

// findBinding finds a binding by its id or a beginning of it that no other has.
func findBinding(tx *store.Tx, ref string) (core.Binding, error) {
	if ref == "" {
		return core.Binding{}, unknown("binding", ref)
	}
	found, err := tx.BindingsByPrefix(strings.ToUpper(ref), candidates+1)
	if err != nil {
		return core.Binding{}, err
	}
	return onlyOne("binding", ref, found, func(b core.Binding) string { return b.ID + " (" + b.Address.String() + ")" })
}

// findOutbox finds a message of the outbox by its number.
func findOutbox(tx *store.Tx, ref string) (store.Outbox, error) {
	id, err := strconv.ParseInt(ref, 10, 64)
	if err != nil {
		return store.Outbox{}, unknown("outbox", ref)
	}
	row, err := tx.OutboxByID(id)
	if errors.Is(err, store.ErrNotFound) {
		return row, unknown("outbox", ref)
	}
	return row, err
}

// onlyOne returns the single element of found, or says that there is none or
// that there are several.
func onlyOne[T any](what, ref string, found []T, name func(T) string) (T, error) {
	var none T
	switch len(found) {
	case 0:
		return none, unknown(what, ref)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, f := range found[:min(len(found), candidates)] {
		names = append(names, name(f))
	}
	if len(found) > candidates {
		names = append(names, "...")
	}
	return none, core.Errorf(what+"_ambiguous", "%q is the beginning of several", ref).
		WithRemedy("write more of one of these: %s", strings.Join(names, ", "))
}

// lists names the commands that list each kind of thing.
func lists(what string) string {
	if what == "outbox" {
		return "skein outbox"
	}
	return "skein " + what + "s"
}

func unknown(what, ref string) *core.Error {
	noun := what
	if what == "outbox" {
		noun = "message in the outbox"
	}
	return core.Errorf(what+"_unknown", "there is no %s %q", noun, ref).WithRemedy("`%s` lists them", lists(what))
}
