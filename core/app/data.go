package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// person is somebody on a channel.
type person struct {
	name        string // "channel:id"
	channel, id string
}

// findPerson reads "channel:id".
func findPerson(text string) (person, error) {
	channel, id, _ := strings.Cut(text, ":")
	if channel == "" || id == "" {
		return person{}, core.Errorf("bad_person", "%q names no person", text).WithRemedy("write channel:id, for example telegram:12345")
	}
	return person{text, channel, id}, nil
}

// mark is how a person stands in the JSON of a row that somebody else wrote.
func (p person) mark() string {
	id, err := json.Marshal(p.id)
	if err != nil {
		return p.id
	}
	return `"id":` + string(id)
}

// holdings is what the store has of a person.
type holdings struct {
	// own are the sessions that are theirs alone: direct chats, and sub-agents
	// that nobody else has written to. Others have rows of theirs: shared.
	own, shared []store.Session
	runs        []core.Run
	bindings    []core.Binding
	inbox       []store.Inbox
	outbox      []store.Outbox
	seen        []store.Seen
	places      []core.Address // their direct conversations
}

// find looks for everything that is a person's.
func (p person) find(tx *store.Tx) (h holdings, err error) {
	if h.runs, err = tx.RunsOfOwner(p.name); err != nil {
		return h, err
	}
	for _, look := range []func(*store.Tx, *holdings) error{p.findDirect, p.findChildren, p.findShared, p.findBindings, p.findMessages} {
		if err := look(tx, &h); err != nil {
			return h, err
		}
	}
	return h, nil
}

func (p person) findDirect(tx *store.Tx, h *holdings) error {
	all, err := tx.DirectSessions()
	for _, s := range all {
		key, err := core.ParseSessionKey(s.Key)
		if err != nil || key.Peer != p.id {
			continue
		}
		if key.Channel == p.channel || key.Channel == "" && s.Address.Channel == p.channel {
			h.own = append(h.own, s)
			h.addPlace(s.Address)
		}
	}
	return err
}

func (h *holdings) addPlace(at core.Address) {
	if at = at.InThread(""); !at.IsZero() && !slices.ContainsFunc(h.places, at.Same) {
		h.places = append(h.places, at)
	}
}

// findChildren finds the sessions of sub-agents that worked for the person
// alone.
func (p person) findChildren(tx *store.Tx, h *holdings) error {
	for _, r := range h.runs {
		s, err := tx.SessionByID(r.Session)
		if errors.Is(err, store.ErrNotFound) || err == nil && (!s.Kind.Spawned() || h.has(s.ID)) {
			continue
		}
		if err != nil {
			return err
		}
		others, err := tx.OthersIn(s.ID, p.name)
		if err != nil {
			return err
		}
		if !others {
			h.own = append(h.own, s)
		}
	}
	return nil
}

func (h *holdings) has(session int64) bool {
	return slices.ContainsFunc(h.own, func(s store.Session) bool { return s.ID == session })
}

func (p person) findShared(tx *store.Tx, h *holdings) error {
	ids, err := tx.SessionsWith(p.name, p.mark())
	if err != nil {
		return err
	}
	for _, id := range ids {
		if h.has(id) {
			continue
		}
		s, err := tx.SessionByID(id)
		if err != nil {
			return err
		}
		if s.Address.Channel != p.channel && s.Kind != core.SessionMain && !s.Kind.Spawned() {
			continue // somebody with the same id elsewhere
		}
		h.shared = append(h.shared, s)
		if s.Kind != core.SessionMain {
			continue
		}
		turns, err := tx.TurnsOfSession(id, allTurns)
		if err != nil {
			return err
		}
		for _, t := range turns {
			if t.Owner == p.name {
				h.addPlace(t.ReplyTo)
			}
		}
	}
	return nil
}

// allTurns is more turns than a session has.
const allTurns = 1 << 30

func (p person) findBindings(tx *store.Tx, h *holdings) (err error) {
	if h.bindings, err = tx.BindingsOfOwner(p.name); err != nil {
		return err
	}
	for _, s := range h.own {
		more, err := tx.BindingsTo(s.ID)
		if err != nil {
			return err
		}
		for _, b := range more {
			if !slices.ContainsFunc(h.bindings, func(x core.Binding) bool { return x.ID == b.ID }) {
				h.bindings = append(h.bindings, b)
			}
		}
	}
	return nil
}

func (p person) findMessages(tx *store.Tx, h *holdings) (err error) {
	if h.inbox, err = tx.InboxWith(p.name, p.mark()); err != nil {
		return err
	}
	if h.seen, err = tx.SeenOf(p.name); err != nil {
		return err
	}
	add := func(rows []store.Outbox, err error) error {
		for _, r := range rows {
			if !slices.ContainsFunc(h.outbox, func(x store.Outbox) bool { return x.ID == r.ID }) {
				h.outbox = append(h.outbox, r)
			}
		}
		return err
	}
	err = add(tx.OutboxOfOwner(p.name))
	for _, s := range h.own {
		err = errors.Join(err, add(tx.OutboxOfSession(s.ID)))
	}
	for _, r := range h.runs {
		err = errors.Join(err, add(tx.OutboxOfRun(r.ID)))
	}
	for _, at := range h.places {
		err = errors.Join(err, add(tx.OutboxTo(at)))
	}
	for _, b := range h.bindings {
		err = errors.Join(err, add(tx.OutboxOfBinding(b.ID)))
	}
	slices.SortFunc(h.outbox, func(a, b store.Outbox) int { return int(a.ID - b.ID) })
	return err
}

// busy names what is in progress of a person, "" for nothing.
func (h *holdings) busy(tx *store.Tx) (string, error) {
	for _, r := range h.runs {
		if r.Status.Live() {
			return "task " + r.TaskID, nil
		}
	}
	for _, s := range slices.Concat(h.own, h.shared) {
		if running, err := isRunning(tx, s.ID); running || err != nil {
			return "a turn of " + s.Key, err
		}
	}
	return "", nil
}

func isRunning(tx *store.Tx, session int64) (bool, error) {
	_, err := tx.RunningTurn(session)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// EraseData removes what the store has of a person ("channel:id") in one
// transaction, and says what it did. Their own sessions go whole; in sessions
// that others share their words are emptied, and the answers to them, and the
// rows stay. While something is in progress for the person it is refused with
// the code data_busy; with force that is stopped first, as /stop does.
//
// It is for a store that no gateway serves. App serves it through its API, where
// what is in memory goes too.
func EraseData(ctx context.Context, db *store.DB, who string, force bool) (report DataReport, err error) {
	err = db.Write(ctx, func(tx *store.Tx) error {
		report, err = eraser{}.erase(tx, who, force, db.World().Now())
		return err
	})
	return report, err
}

// eraser erases; live is nil without a runtime.
type eraser struct{ live *App }

func (x eraser) erase(tx *store.Tx, who string, force bool, now core.Millis) (DataReport, error) {
	report := DataReport{Person: who}
	p, err := findPerson(who)
	if err != nil {
		return report, err
	}
	h, err := p.find(tx)
	if err != nil {
		return report, err
	}
	busy, err := h.busy(tx)
	if err != nil {
		return report, err
	}
	if busy != "" {
		if !force {
			return report, core.Errorf("data_busy", "%s is in progress", busy).WithRemedy("wait until it has ended, or stop it with --force")
		}
		if err := x.stop(tx, h); err != nil {
			return report, err
		}
		report.Stopped = busy
	}
	if err := x.unbind(tx, h.bindings); err != nil {
		return report, err
	}
	if h, err = p.find(tx); err != nil { // with what the stop and the farewells wrote
		return report, err
	}
	counts, err := p.remove(tx, h, now)
	if x.live != nil { // files that spawns handed over are let go of now
		tx.OnCommit(func() { x.live.kernel.Due(now) })
	}
	for _, c := range counts {
		report.Tables = append(report.Tables, DataCount{Table: c.Table, Removed: c.Removed, Emptied: c.Emptied})
	}
	return report, err
}

// stop ends what is in progress. Of a session that others share only the turn
// is ended: what they wrote still waits.
func (x eraser) stop(tx *store.Tx, h holdings) error {
	for _, s := range h.shared {
		running, err := isRunning(tx, s.ID)
		if err != nil {
			return err
		}
		if !running {
			continue
		}
		if x.live == nil {
			return core.Errorf("data_busy", "a turn of %s was interrupted and goes on at the next start", s.Key).
				WithRemedy("start the gateway with `skein run`, and ask again")
		}
		if err := x.live.engine.StopTurn(tx, s.ID); err != nil {
			return err
		}
	}
	if x.live == nil {
		return nil // nothing runs; what is theirs is removed
	}
	for _, r := range h.runs {
		if r.Status.Live() {
			if _, err := x.live.engine.Stop(tx, r.Session); err != nil {
				return err
			}
		}
	}
	for _, s := range h.own {
		if _, err := x.live.engine.Stop(tx, s.ID); err != nil {
			return err
		}
	}
	return nil
}

// unbind ends live bindings, in memory too.
func (x eraser) unbind(tx *store.Tx, list []core.Binding) error {
	if x.live == nil {
		return nil
	}
	for _, b := range list {
		if now, found, err := tx.BindingByID(b.ID); err != nil || !found || !now.Status.Live() {
			if err != nil {
				return err
			}
			continue
		}
		if err := x.live.bindings.End(tx, b.ID, core.EndManual); err != nil {
			return err
		}
	}
	return nil
}

// remove removes what was found.
func (p person) remove(tx *store.Tx, h holdings, now core.Millis) ([]store.Erased, error) {
	e := tx.NewErasure()
	for _, r := range h.outbox {
		e.Message(r.ID, now)
	}
	for _, r := range h.inbox {
		if err := p.removeInput(e, r); err != nil {
			return nil, err
		}
	}
	quoting, err := tx.SeenQuoting(p.name, p.mark())
	if err != nil {
		return nil, err
	}
	for _, r := range quoting {
		if body, changed, err := p.blank(r.Body, false); err != nil {
			return nil, err
		} else if changed && r.Place.Channel == p.channel {
			e.SeenBody(r.ID, body)
		}
	}
	for _, s := range h.shared {
		if err := p.blankSession(tx, e, s.ID); err != nil {
			return nil, err
		}
		e.SharedSession(s.ID, p.name)
	}
	for _, r := range h.runs {
		e.Run(r.ID)
	}
	for _, b := range h.bindings {
		e.Binding(b.ID)
	}
	for _, s := range h.own {
		e.Session(s.ID)
	}
	for _, at := range h.places {
		e.Conversation(at)
	}
	e.Person(p.name)
	return e.Counts()
}

// removeInput removes a row that waits and is theirs, or what another's row has
// of them.
func (p person) removeInput(e *store.Erasure, r store.Inbox) error {
	if r.Owner == p.name {
		e.Input(r.ID)
		return nil
	}
	body, changed, err := p.blank(r.Body, false)
	if err == nil && changed && r.ReplyTo.Channel == p.channel {
		e.InputBody(r.ID, body)
	}
	return err
}

// blank empties the JSON of an item, or only what it has of the person.
func (p person) blank(body string, whole bool) (out string, changed bool, err error) {
	item, err := model.DecodeItem(body)
	if err != nil {
		return body, false, err
	}
	if whole {
		return emptied(item).Encode(), true, nil
	}
	item, changed = p.without(item)
	return item.Encode(), changed, nil
}

// blankPage is how many rows of a session are looked at at a time.
const blankPage = 1000

// blankSession empties the rows of a session that are a person's: what they
// wrote and, in turns that nobody else had a part in, what was answered. A
// summary that may hold their words goes too.
func (p person) blankSession(tx *store.Tx, e *store.Erasure, session int64) error {
	theirs, err := p.turnsIn(tx, session)
	if err != nil {
		return err
	}
	met := false
	for after := int64(0); ; {
		rows, err := tx.RowsFrom(session, after, blankPage)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			after = r.ID
			whole := r.Owner == p.name || theirs[r.Turn] || met && r.Kind == string(model.Compacted)
			body, changed, err := p.blank(r.Body, whole)
			if err != nil {
				return err
			}
			met = met || changed
			if !changed {
				continue
			}
			e.Row(r.ID, body)
			for _, ref := range lost(r.Body, body) {
				e.Picture(ref)
			}
		}
	}
}

// turnsIn returns the turns of a session that have rows of the person and of
// nobody else.
func (p person) turnsIn(tx *store.Tx, session int64) (map[int64]bool, error) {
	theirs, others := make(map[int64]bool), make(map[int64]bool)
	for after := int64(0); ; {
		rows, err := tx.RowsFrom(session, after, blankPage)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			break
		}
		for _, r := range rows {
			after = r.ID
			switch r.Owner {
			case "":
			case p.name:
				theirs[r.Turn] = true
			default:
				others[r.Turn] = true
			}
		}
	}
	for turn := range others {
		delete(theirs, turn)
	}
	delete(theirs, 0)
	return theirs, nil
}

// lost returns the pictures that the JSON of an item named before and does not
// name any more.
func lost(before, after string) (refs []string) {
	was, err := model.DecodeItem(before)
	if err != nil {
		return nil
	}
	for _, ref := range pictures(was) {
		if !strings.Contains(after, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// pictures returns the pictures that came with an item, and with what was said
// before it.
func pictures(i model.Item) (refs []string) {
	for _, f := range i.Files {
		if f.Ref != "" {
			refs = append(refs, f.Ref)
		}
	}
	for _, c := range i.Context {
		refs = append(refs, pictures(c)...)
	}
	return refs
}
