package delivery

import (
	"errors"
	"maps"
	"slices"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Post puts a message into the outbox, inside the transaction of what caused
// it; it is the only way out of the runtime. The worker of the account learns of
// it when the transaction commits. Only what describes the message is taken from
// row: once key, kind, address, anchor, persona, text, session, run, what it
// tells, owner, the preview it replaces, and At (0: now).
//
// If nothing is left of the text after the Gate, nothing is inserted and the id
// is 0. If the once key exists already, the id is that of the message that has
// it. In both cases fresh is false.
func (s *Service) Post(tx *store.Tx, row store.Outbox) (id int64, fresh bool, err error) {
	if a := row.Address; a.Channel == "" || a.Account == "" || a.Conversation == "" {
		return 0, false, core.Errorf("outbox_address", "a message to %q has no complete address", a.String())
	}
	row = store.Outbox{
		OnceKey: row.OnceKey, Kind: row.Kind, Address: row.Address, Anchor: row.Anchor, Persona: row.Persona, Text: s.gate(row.Text),
		State: store.OutQueued, Session: row.Session, Run: row.Run, Tells: row.Tells, Owner: row.Owner, At: row.At, Preview: row.Preview,
	}
	if row.Text == "" {
		return 0, false, nil
	}
	if row.At == 0 {
		row.At = s.opts.World.Now()
	}
	if row.ID, fresh, err = tx.InsertOutbox(row); err != nil {
		return 0, false, err
	}
	if !fresh {
		if row, err = tx.OutboxByOnce(row.OnceKey); err != nil {
			return 0, false, err
		}
	}
	s.wake(tx, row)
	return row.ID, fresh, nil
}

// gate is Gate and the redaction.
func (s *Service) gate(text string) string {
	text = Gate(text)
	if text != "" && s.opts.Redact != nil {
		text = Gate(s.opts.Redact(text))
	}
	return text
}

// wake hands an open row to its worker when tx commits. The store calls back in
// the order of its commits, and the end of a row is a commit too: a row cannot
// come back from an older state.
func (s *Service) wake(tx *store.Tx, row store.Outbox) {
	if row.State != store.OutQueued && row.State != store.OutSending {
		return
	}
	tx.OnCommit(func() {
		if w := s.worker(row.Address); w != nil {
			w.add([]store.Outbox{row}, false)
		} else if s.opts.Holds != nil && !s.opts.Holds(row.Address.Channel, row.Address.Account) {
			s.opts.DB.Hint(store.Hint{Kind: store.HintOutbox, Channel: row.Address.Channel, Account: row.Address.Account})
		}
	})
}

// lookRows is how many of an account's newest open messages a look reads; it
// finds what was committed since the last one, in whatever order.
const lookRows = 256

// Look has the worker of an account see what other nodes have written for it.
// It reads the store and does not wait for a send. Accounts without a worker
// here are none of its business.
func (s *Service) Look(at core.Address) {
	if w := s.worker(at); w != nil {
		w.look()
	}
}

// LookAll is Look for every account.
func (s *Service) LookAll() {
	s.mu.RLock()
	workers := slices.Collect(maps.Values(s.workers))
	s.mu.RUnlock()
	for _, w := range workers {
		w.look()
	}
}

// look reads without the order of commits, so a row may have ended meanwhile:
// each is read again before it is sent.
func (w *worker) look() {
	var rows []store.Outbox
	err := w.s.opts.DB.Read(w.ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.NewestOpenOutbox(w.account.Channel, w.account.ID, lookRows)
		return err
	})
	if err != nil {
		w.log.Debug("the outbox could not be looked at", "error", err)
		return
	}
	w.add(rows, true)
}

// Retry queues a message again that is ambiguous, failed, blocked or dismissed,
// at its first unsent part; operators ask for it. It returns a *core.Error with
// code outbox_unknown or outbox_state.
func (s *Service) Retry(tx *store.Tx, id int64) error {
	ok, err := tx.ReopenOutbox(id)
	if err != nil {
		return err
	}
	row, err := known(tx, id)
	if err != nil {
		return err
	}
	if !ok {
		return core.Errorf("outbox_state", "message %d is %s: there is nothing to retry", id, row.State)
	}
	s.wake(tx, row)
	return nil
}

// Reissue sends a message that is ambiguous, failed or blocked once more as a new
// one, under another once-key and from its first unsent part on; the old one is
// withdrawn. Where it is not in trouble any more, or the key exists, it does
// nothing.
func (s *Service) Reissue(tx *store.Tx, old store.Outbox, key string) error {
	id, ok, err := tx.ReissueOutbox(old, key, s.opts.World.Now())
	if err != nil || !ok {
		return err
	}
	row, err := tx.OutboxByID(id)
	if err == nil {
		s.wake(tx, row)
	}
	return err
}

// Dismiss lets a message go that is ambiguous, failed or blocked: it is not in
// trouble any more and is not sent. Errors are those of Retry.
func (s *Service) Dismiss(tx *store.Tx, id int64) error {
	ok, err := tx.DismissOutbox(id, s.opts.World.Now())
	if err != nil {
		return err
	}
	row, err := known(tx, id)
	if err != nil {
		return err
	}
	if !ok {
		return core.Errorf("outbox_state", "message %d is %s: there is nothing to dismiss", id, row.State)
	}
	return nil
}

func known(tx *store.Tx, id int64) (store.Outbox, error) {
	row, err := tx.OutboxByID(id)
	if errors.Is(err, store.ErrNotFound) {
		return row, core.Errorf("outbox_unknown", "there is no message %d in the outbox", id).
			WithRemedy("`skein outbox` lists them; what is at an end is kept for session.retention.outboxDays")
	}
	return row, err
}

// Withdraw takes back the answers, progress and notices that the session has
// not sent yet and returns how many (/stop, /new). What is on its way is not
// taken back; the part that people see of an answer is.
func (s *Service) Withdraw(tx *store.Tx, session int64) (int64, error) {
	n, err := tx.WithdrawOutbox(session, s.opts.World.Now())
	if err != nil {
		return n, err
	}
	orphans, err := tx.OpenPreviews(session)
	if err != nil {
		return n, err
	}
	for _, p := range orphans {
		if err := s.postRetract(tx, p); err != nil {
			return n, err
		}
	}
	if n == 0 {
		return 0, nil
	}
	tx.OnCommit(func() {
		s.mu.RLock()
		defer s.mu.RUnlock()
		for _, w := range s.workers {
			w.recheck(session)
		}
	})
	return n, nil
}
