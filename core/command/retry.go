package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// Edits are what people did to the messages of a session's last turn after it
// had taken them. /retry goes by them.
type Edits struct {
	Turn    int64             `json:"turn"`
	Texts   map[string]string `json:"texts,omitempty"`   // new texts by message id
	Deleted []string          `json:"deleted,omitempty"` // message ids
}

// LoadEdits returns what was done to the messages of a turn.
func LoadEdits(tx *store.Tx, session, turn int64) (Edits, error) {
	e := Edits{Turn: turn}
	text, err := tx.Setting(session, store.SettingEdited)
	if err != nil || text == "" {
		return e, err
	}
	var kept Edits
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return e, fmt.Errorf("the edits of session %d: %w", session, err)
	}
	if kept.Turn == turn {
		return kept, nil
	}
	return e, nil
}

// Reword notes the new text of a message.
func (e *Edits) Reword(message, text string) {
	if e.Texts == nil {
		e.Texts = make(map[string]string)
	}
	e.Texts[message] = text
}

// Remove notes that a message was deleted.
func (e *Edits) Remove(message string) {
	if !slices.Contains(e.Deleted, message) {
		e.Deleted = append(e.Deleted, message)
	}
}

// Save stores the edits in place of those of an earlier turn.
func (e *Edits) Save(tx *store.Tx, session int64) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return tx.SetSetting(session, store.SettingEdited, string(b))
}

// retry is /retry: what the last turn was asked is asked again, in the words of
// today, and what came of it the first time leaves the prompt. The answer is
// the reply.
func (s Set) retry(tx *store.Tx, r Request) (Reply, error) {
	if r.Args != "" {
		return Reply{}, words.RefuseUsageAlone(CodeUsage, "/retry")
	}
	if r.Session.ID == 0 {
		return Reply{}, words.RefuseRetryNothing(CodeRetryNothing)
	}
	if busy, err := s.busy(tx, r.Session); busy || err != nil {
		return Reply{}, orElse(err, words.RefuseRetryBusy(CodeRetryBusy))
	}
	turn, err := tx.LastAsked(r.Session)
	if errors.Is(err, store.ErrNotFound) || err == nil && !turn.ReplyTo.Same(r.Message.Address) {
		return Reply{}, words.RefuseRetryNothing(CodeRetryNothing) // elsewhere somebody else may be waiting for the answer
	}
	if err != nil {
		return Reply{}, err
	}
	rows, theirs, err := askedBy(tx, r, turn)
	switch {
	case err != nil:
		return Reply{}, err
	case len(rows) == 0:
		return Reply{}, words.RefuseRetryNothing(CodeRetryNothing)
	case !theirs && !r.Operator:
		return Reply{}, words.RefuseRetryOthers(CodeRetryOthers)
	}
	return Reply{Silent: true}, s.askAgain(tx, r, turn, rows)
}

// busy reports whether a session works or waits, or has sub-agents that do.
func (s Set) busy(tx *store.Tx, session store.Session) (bool, error) {
	// From here on nobody can begin a turn of it.
	if err := tx.CheckFence(session.ID, session.Fence); err != nil {
		if errors.Is(err, store.ErrFenced) {
			return true, nil
		}
		return false, err
	}
	if busy, _, err := tx.SessionBusy(session.ID); busy || err != nil {
		return busy, err
	}
	live, err := tx.CountLiveRunsOf(session.ID)
	return live > 0, err
}

// askedBy returns the inbox rows that ask again what a turn was asked, with what
// was edited since and without what was deleted; theirs is set where one of the
// messages is of the person who asks for it.
func askedBy(tx *store.Tx, r Request, turn store.Turn) (rows []store.Inbox, theirs bool, err error) {
	edits, err := LoadEdits(tx, r.Session.ID, turn.ID)
	if err != nil {
		return nil, false, err
	}
	written, err := tx.RowsOfTurn(r.Session, turn.ID)
	if err != nil {
		return nil, false, err
	}
	for _, w := range written {
		kind := store.InboxKind(w.Kind)
		if kind != store.InboxMessage && kind != store.InboxDropped {
			continue
		}
		item, err := model.DecodeItem(w.Body)
		if err != nil {
			return nil, false, err
		}
		if slices.Contains(edits.Deleted, item.MessageID) {
			continue
		}
		if text, ok := edits.Texts[item.MessageID]; ok {
			item.Text = text
		}
		item.Dropped, item.Left = 0, nil // people were told
		row := store.Inbox{
			Session: r.Session.ID, Kind: kind, Lane: store.LaneMain, ReplyTo: turn.ReplyTo, Anchor: turn.Anchor, Policy: turn.Policy,
			Owner: w.Owner, Body: item.Encode(), At: r.Now,
		}
		if item.MessageID != "" {
			row.Anchor, row.Source = item.MessageID, store.SourceOf(turn.ReplyTo, item.MessageID)
		}
		theirs = theirs || kind == store.InboxMessage && r.Actor != "" && row.Owner == r.Actor
		rows = append(rows, row)
	}
	return rows, theirs, nil
}

// askAgain puts the rows into the inbox in the place of what the turn wrote.
func (s Set) askAgain(tx *store.Tx, r Request, turn store.Turn, rows []store.Inbox) error {
	if err := tx.ReplaceFrom(r.Session, turn.ID); err != nil {
		return err
	}
	if err := uncarry(tx, r, turn); err != nil {
		return err
	}
	// Whoever remembers the old prompt must read it anew.
	if err := tx.RaiseFence(r.Session.ID); err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := tx.InsertInbox(row); err != nil {
			return err
		}
	}
	if err := tx.SetSetting(r.Session.ID, store.SettingEdited, ""); err != nil {
		return err
	}
	if err := tx.MarkReady(r.Session.ID, r.Now); err != nil {
		return err
	}
	tx.OnCommit(func() { s.o.Kernel.Wake(r.Session.ID, store.LaneMain, false) })
	return nil
}

// uncarry leaves out of the prompt what a compaction inside of the turn carried
// over: it is asked again, in the words of today.
func uncarry(tx *store.Tx, r Request, turn store.Turn) error {
	rows, err := tx.Transcript(r.Session)
	if err != nil {
		return err
	}
	for _, row := range slices.Backward(rows) {
		if row.Kind != string(model.Compacted) {
			continue
		}
		item, err := model.DecodeItem(row.Body)
		if err != nil || row.Turn < turn.ID || item.Compaction == nil || len(item.Compaction.Carried) == 0 {
			return err
		}
		item.Compaction.Carried = nil
		row.Body, row.At = item.Encode(), r.Now
		_, err = tx.AppendRow(row) // of compactions the newest counts
		return err
	}
	return nil
}

// orElse returns err, or the refusal where there is none.
func orElse(err error, refusal *core.Error) error {
	if err != nil {
		return err
	}
	return refusal
}
