package store

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
)

// Session is a row of the session table: one history of one agent, one serial
// lane. Owner and Fence say who runs its turn: every transaction of a turn
// compares the fence first.
type Session struct {
	ID         int64
	Key        string
	Agent      string
	Kind       core.SessionKind
	Address    core.Address // where it was opened, for lists and for posts that no message started
	Title      string
	Group      string // the heading under which a visible session is listed
	Generation int64  // rises with /new and /reset
	// ContextFrom is the first transcript row of the prompt; older rows are
	// behind a compaction.
	ContextFrom int64
	// A fork is a pointer: the rows of ForkSession's generation ForkGeneration
	// up to ForkRow come before the rows of this session's first generation;
	// later ones inherit nothing.
	ForkSession, ForkGeneration, ForkRow int64
	Depth                                int
	Parent                               int64  // the session that spawned it, 0 if none
	Ordinals                             int    // children numbered so far
	Completions                          int    // outcomes numbered so far
	Waits                                int    // armed waits
	QueueMode                            string // what /queue chose, "" for the configured mode
	Model                                string // what /new chose, "" for the agent's model
	Owner                                string
	Fence                                int64
	Ready                                bool
	CreatedAt, UsedAt                    core.Millis
	ArchiveDue, ArchivedAt               core.Millis
}

// firstGeneration is the generation in which a session begins.
const firstGeneration = 1

// forked reports whether the session's current history begins with inherited
// rows. A session is only ever forked from an older one.
func (s Session) forked() bool {
	return s.ForkSession != 0 && s.ForkSession < s.ID && s.Generation == firstGeneration
}

const sessionColumns = `id, key, agent, kind, address, title, generation, context_from, fork_session, fork_generation, fork_row,
	depth, parent_id, ordinals, completions, waits, queue_mode, model, owner, fence, ready, created_at, used_at, archive_due, archived_at, category`

func scanSession(s scanner) (Session, error) {
	var r Session
	var address string
	err := s.Scan(&r.ID, &r.Key, &r.Agent, &r.Kind, &address, &r.Title, &r.Generation, &r.ContextFrom, &r.ForkSession,
		&r.ForkGeneration, &r.ForkRow, &r.Depth, &r.Parent, &r.Ordinals, &r.Completions, &r.Waits, &r.QueueMode, &r.Model, &r.Owner,
		&r.Fence, &r.Ready, &r.CreatedAt, &r.UsedAt, &r.ArchiveDue, &r.ArchivedAt, &r.Group)
	r.Address = parseAddress(address)
	return r, err
}

// formatAddress writes an address with its parent: the text form, then, after
// a space (which no text form has), the parent conversation.
func formatAddress(a core.Address) string {
	s := a.String()
	if a.Parent == "" {
		return s
	}
	return s + " " + core.Address{Channel: a.Channel, Account: a.Account, Conversation: a.Parent}.String()
}

// parseAddress is the inverse of formatAddress; what it cannot read is the
// zero address.
func parseAddress(s string) core.Address {
	if s == "" {
		return core.Address{}
	}
	text, parent, hasParent := strings.Cut(s, " ")
	a, err := core.ParseAddress(text)
	if err != nil {
		return core.Address{}
	}
	if hasParent {
		if p, err := core.ParseAddress(parent); err == nil {
			a.Parent = p.Conversation
		}
	}
	return a
}

// SessionByKey returns the session with that key, or ErrNotFound.
func (tx *Tx) SessionByKey(key string) (Session, error) {
	return tx.held(first(tx, scanSession, `SELECT `+sessionColumns+` FROM session WHERE key = $1`+tx.forUpdate(), key))
}

// SessionByID returns the session with that id, or ErrNotFound.
func (tx *Tx) SessionByID(id int64) (Session, error) {
	return tx.held(first(tx, scanSession, `SELECT `+sessionColumns+` FROM session WHERE id = $1`+tx.forUpdate(), id))
}

// held notes that a unit has locked the session that it read.
func (tx *Tx) held(s Session, err error) (Session, error) {
	if err == nil && tx.unit != nil {
		tx.db.pg.holds(tx.unit, s.ID)
	}
	return s, err
}

// EnsureSession returns the session with s.Key, creating it from s if there is
// none. An archived session comes back to life.
func (tx *Tx) EnsureSession(s Session) (Session, error) {
	old, err := tx.SessionByKey(s.Key)
	if err == nil {
		if old.ArchivedAt != 0 {
			if _, err := tx.exec(`UPDATE session SET archived_at = 0, archive_due = 0 WHERE id = $1`, old.ID); err != nil {
				return old, err
			}
			old.ArchivedAt, old.ArchiveDue = 0, 0
		}
		return old, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return old, err
	}
	made, err := tx.insertSession(s, ` ON CONFLICT (key) DO NOTHING`)
	if errors.Is(err, ErrNotFound) { // another node was faster
		return tx.SessionByKey(s.Key)
	}
	return made, err
}

// InsertSession creates a session and returns it with its id.
func (tx *Tx) InsertSession(s Session) (Session, error) { return tx.insertSession(s, "") }

func (tx *Tx) insertSession(s Session, onConflict string) (Session, error) {
	s.Generation = max(s.Generation, firstGeneration)
	err := tx.one(`INSERT INTO session (key, agent, kind, address, title, generation, context_from, fork_session, fork_generation,
		fork_row, depth, parent_id, created_at, used_at, category) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15)`+onConflict+` RETURNING id`,
		[]any{s.Key, s.Agent, string(s.Kind), formatAddress(s.Address), s.Title, s.Generation, s.ContextFrom, s.ForkSession, s.ForkGeneration,
			s.ForkRow, s.Depth, s.Parent, int64(s.CreatedAt), int64(s.UsedAt), s.Group}, &s.ID)
	return tx.held(s, err)
}

// DeleteSession removes a session that never ran, to undo a refused spawn, with
// what it was given of its requester's history.
func (tx *Tx) DeleteSession(id int64) error {
	if err := tx.later(`DELETE FROM transcript WHERE session_id = $1`, id); err != nil {
		return err
	}
	return tx.later(`DELETE FROM session WHERE id = $1`, id)
}

// TouchSession sets the time of last use.
func (tx *Tx) TouchSession(id int64, now core.Millis) error {
	return tx.later(`UPDATE session SET used_at = $2 WHERE id = $1`, id, int64(now))
}

// MarkReady notes that the session has work to do. Call it in the transaction
// that adds the work, and wake the kernel OnCommit.
func (tx *Tx) MarkReady(id int64, now core.Millis) error {
	if err := tx.LockSession(id); err != nil {
		return err
	}
	return tx.later(`UPDATE session SET ready = 1, ready_at = CASE WHEN ready = 1 THEN ready_at ELSE $2 END, used_at = $2 WHERE id = $1`,
		id, int64(now))
}

// ReadySessions returns the ids of sessions that have work, oldest first.
func (tx *Tx) ReadySessions(limit int) ([]int64, error) {
	return all(tx, scanID, `SELECT id FROM session WHERE ready = 1 ORDER BY ready_at LIMIT $1`, limit)
}

func scanID(s scanner) (int64, error) {
	var id int64
	err := s.Scan(&id)
	return id, err
}

// FreeForeignSessions takes every session from nodes other than node, marks
// it ready, because it has a turn in progress, and returns how many it took. On SQLite the process lock is the lease, so at start all other
// nodes are dead.
func (tx *Tx) FreeForeignSessions(node string, now core.Millis) (int64, error) {
	return tx.exec(`UPDATE session SET owner = '', fence = fence + 1, ready = 1, ready_at = $2 WHERE owner <> '' AND owner <> $1`,
		node, int64(now))
}

// OwnSession makes node the owner under a new fence and returns the fence.
func (tx *Tx) OwnSession(id int64, node string) (fence int64, err error) {
	err = tx.one(`UPDATE session SET owner = $2, fence = fence + 1, ready = 0 WHERE id = $1 RETURNING fence`, []any{id, node}, &fence)
	return fence, err
}

// ReleaseSession gives the session up. ready says that more work waits.
func (tx *Tx) ReleaseSession(id int64, ready bool, now core.Millis) error {
	r := 0
	if ready {
		r = 1
	}
	return tx.later(`UPDATE session SET owner = '', ready = $2, ready_at = $3, used_at = $3 WHERE id = $1`, id, r, int64(now))
}

// CheckFence returns ErrFenced unless the session's fence is still fence. On
// PostgreSQL it locks the row; every transaction of a turn calls it first.
func (tx *Tx) CheckFence(id, fence int64) error {
	var have int64
	if err := tx.one(`SELECT fence FROM session WHERE id = $1`+tx.forUpdate(), []any{id}, &have); err != nil {
		return err
	}
	if tx.unit != nil {
		tx.db.pg.holds(tx.unit, id)
	}
	if have != fence {
		return ErrFenced
	}
	return nil
}

// RaiseFence makes the running turn's next transaction fail, as a stop does.
func (tx *Tx) RaiseFence(id int64) error {
	if err := tx.LockSession(id); err != nil {
		return err
	}
	return tx.later(`UPDATE session SET fence = fence + 1, owner = '' WHERE id = $1`, id)
}

// NewGeneration starts an empty history in the session. The older ones stay,
// with what they inherited, for the sessions that were forked from them.
func (tx *Tx) NewGeneration(id int64) error {
	return tx.later(`UPDATE session SET generation = generation + 1, context_from = 0 WHERE id = $1`, id)
}

// SetContextFrom moves the first transcript row of the prompt.
func (tx *Tx) SetContextFrom(id, row int64) error {
	return tx.later(`UPDATE session SET context_from = $2 WHERE id = $1`, id, row)
}

// NextOrdinal numbers one more child of the session.
func (tx *Tx) NextOrdinal(id int64) (n int, err error) {
	err = tx.one(`UPDATE session SET ordinals = ordinals + 1 WHERE id = $1 RETURNING ordinals`, []any{id}, &n)
	return n, err
}

// NextCompletion numbers one more outcome of the session.
func (tx *Tx) NextCompletion(id int64) (n int, err error) {
	err = tx.one(`UPDATE session SET completions = completions + 1 WHERE id = $1 RETURNING completions`, []any{id}, &n)
	return n, err
}

// SetArchiveDue plans the archive of a session, 0 to cancel the plan.
func (tx *Tx) SetArchiveDue(id int64, due core.Millis) error {
	return tx.later(`UPDATE session SET archive_due = $2 WHERE id = $1`, id, int64(due))
}

// ArchiveSession marks a session archived; its rows stay.
func (tx *Tx) ArchiveSession(id int64, now core.Millis) error {
	return tx.later(`UPDATE session SET archived_at = $2, archive_due = 0 WHERE id = $1`, id, int64(now))
}

// ArchiveDueSessions returns sessions whose archive is due.
func (tx *Tx) ArchiveDueSessions(now core.Millis, limit int) ([]Session, error) {
	due, err := all(tx, scanSession, `SELECT `+sessionColumns+` FROM session WHERE archive_due > 0 AND archive_due <= $1
		ORDER BY archive_due LIMIT $2`, int64(now), limit)
	if err != nil || tx.unit == nil {
		return due, err
	}
	slices.SortFunc(due, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	out := due[:0]
	for _, s := range due { // another node may have archived it meanwhile
		s, err := tx.SessionByID(s.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		if err == nil && s.ArchiveDue > 0 && s.ArchiveDue <= now {
			out = append(out, s)
		}
	}
	return out, nil
}

// NextArchiveDue returns the earliest planned archive, 0 if none.
func (tx *Tx) NextArchiveDue() (core.Millis, error) {
	var due core.Millis
	err := tx.one(`SELECT COALESCE(MIN(archive_due), 0) FROM session WHERE archive_due > 0`, nil, &due)
	return due, err
}

// Sessions lists sessions, most recently used first.
func (tx *Tx) Sessions(archived bool, limit int) ([]Session, error) {
	where := `archived_at = 0`
	if archived {
		where = `archived_at > 0`
	}
	return all(tx, scanSession, `SELECT `+sessionColumns+` FROM session WHERE `+where+` ORDER BY used_at DESC, id DESC LIMIT $1`, limit)
}

// SessionsUnder returns the sessions that a session started, archived ones too,
// oldest first.
func (tx *Tx) SessionsUnder(parent int64) ([]Session, error) {
	return all(tx, scanSession, `SELECT `+sessionColumns+` FROM session WHERE parent_id = $1 AND parent_id > 0 ORDER BY id`, parent)
}

// SessionsByPrefix returns sessions whose key begins with prefix, those in use
// before archived ones; at most limit.
func (tx *Tx) SessionsByPrefix(prefix string, limit int) ([]Session, error) {
	return all(tx, scanSession, `SELECT `+sessionColumns+` FROM session WHERE key >= $1 AND key < $2
		ORDER BY CASE WHEN archived_at = 0 THEN 0 ELSE 1 END, key LIMIT $3`, prefix, prefix+"\U0010FFFF", limit)
}

// The settings of a session that are part of its row, because every turn reads
// them.
const (
	SettingQueue = "queue" // the queue mode that /queue chose
	SettingModel = "model" // the model that /new chose
)

// SettingEdited is what people did to messages of the session's last turn after
// it had taken them, for /retry: the JSON of an intake.Edits.
const SettingEdited = "edited"

// settingColumn is where the session row has a setting, "" for nowhere.
func settingColumn(name string) string {
	switch name {
	case SettingQueue:
		return "queue_mode"
	case SettingModel:
		return "model"
	}
	return ""
}

// SetSetting stores a per-session setting; an empty value removes it.
func (tx *Tx) SetSetting(session int64, name, value string) error {
	if column := settingColumn(name); column != "" {
		_, err := tx.exec(`UPDATE session SET `+column+` = $2 WHERE id = $1`, session, value)
		return err
	}
	if value == "" {
		_, err := tx.exec(`DELETE FROM session_setting WHERE session_id = $1 AND name = $2`, session, name)
		return err
	}
	return tx.later(`INSERT INTO session_setting (session_id, name, value) VALUES ($1,$2,$3)
		ON CONFLICT (session_id, name) DO UPDATE SET value = excluded.value`, session, name, value)
}

// Setting returns a per-session setting, "" if unset.
func (tx *Tx) Setting(session int64, name string) (v string, err error) {
	if column := settingColumn(name); column != "" {
		err = tx.one(`SELECT `+column+` FROM session WHERE id = $1`, []any{session}, &v)
	} else {
		err = tx.one(`SELECT value FROM session_setting WHERE session_id = $1 AND name = $2`, []any{session, name}, &v)
	}
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return v, err
}

// MigrateConversation rewrites what names a conversation that got another id:
// the keys and addresses of its sessions, its history, and what waits for it in
// the inbox and the outbox. Bindings are threadbind's.
func (tx *Tx) MigrateConversation(from, to core.Address) error {
	sessions, err := all(tx, scanSession, `SELECT `+sessionColumns+` FROM session WHERE kind = 'group' AND key LIKE '%:group:%'
		ORDER BY id`+tx.forUpdate())
	if err != nil {
		return err
	}
	for _, s := range sessions {
		key, err := core.ParseSessionKey(s.Key)
		if err != nil || key.Channel != from.Channel || key.Account != from.Account || key.Peer != from.Conversation {
			continue
		}
		key.Peer, s.Address.Conversation = to.Conversation, to.Conversation
		if _, err := tx.exec(`UPDATE session SET key = $2, address = $3 WHERE id = $1`, s.ID, key.String(), formatAddress(s.Address)); err != nil {
			return err
		}
		if err := tx.migrateReplies(s.ID, from, to); err != nil {
			return err
		}
	}
	_, err = tx.exec(`UPDATE history SET conversation = $4 WHERE channel = $1 AND account = $2 AND conversation = $3`,
		from.Channel, from.Account, from.Conversation, to.Conversation)
	if err != nil {
		return err
	}
	return tx.later(`UPDATE outbox SET conversation = $4 WHERE channel = $1 AND account = $2 AND conversation = $3
		AND state IN ('queued', 'sending')`, from.Channel, from.Account, from.Conversation, to.Conversation)
}

func (tx *Tx) migrateReplies(session int64, from, to core.Address) error {
	rows, err := all(tx, scanInbox, `SELECT `+inboxColumns+` FROM inbox WHERE session_id = $1`, session)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.ReplyTo.Conversation != from.Conversation {
			continue
		}
		r.ReplyTo.Conversation = to.Conversation
		if _, err := tx.exec(`UPDATE inbox SET reply_to = $2 WHERE id = $1`, r.ID, formatAddress(r.ReplyTo)); err != nil {
			return err
		}
	}
	return nil
}

// Instance returns the store's own name, which fresh becomes if it has none
// yet.
func (tx *Tx) Instance(fresh string) (id string, err error) {
	if _, err := tx.exec(`INSERT INTO seal (name, value) VALUES ('instance', $1) ON CONFLICT (name) DO NOTHING`, fresh); err != nil {
		return "", err
	}
	err = tx.one(`SELECT value FROM seal WHERE name = 'instance'`, nil, &id)
	return id, err
}
