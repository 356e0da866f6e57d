package store

import "github.com/skein-bot/skein/core"

// RaiseTelling has a blocked outcome told anew: it is in the requester's inbox
// again, under the next number of its tellings. ok is false if it is not
// blocked: of two who ask at once one gets it.
func (tx *Tx) RaiseTelling(run string) (n int, ok bool, err error) {
	numbers, err := all(tx, scanInt, `UPDATE run SET retellings = retellings + 1, delivery = 'session_queued', blocked_at = 0
		WHERE id = $1 AND delivery = 'blocked' RETURNING retellings`, run)
	if err != nil || len(numbers) == 0 {
		return 0, false, err
	}
	return numbers[0], true, nil
}

func scanInt(s scanner) (n int, err error) {
	err = s.Scan(&n)
	return n, err
}

// DismissTelling lets a blocked outcome go; ok is false if it is not blocked.
func (tx *Tx) DismissTelling(run string) (ok bool, err error) {
	n, err := tx.exec(`UPDATE run SET delivery = 'dismissed', blocked_at = 0 WHERE id = $1 AND delivery = 'blocked'`, run)
	return n > 0, err
}

// CountBlocked returns how many outcomes of a tree nobody was told.
func (tx *Tx) CountBlocked(root string) (n int, err error) {
	err = tx.one(`SELECT COUNT(*) FROM run WHERE root_run_id = $1 AND delivery = 'blocked'`, []any{root}, &n)
	return n, err
}

// NextBlocked returns since when the oldest outcome is blocked, 0 if none is.
func (tx *Tx) NextBlocked() (since core.Millis, err error) {
	err = tx.one(`SELECT COALESCE(MIN(blocked_at), 0) FROM run WHERE delivery = 'blocked'`, nil, &since)
	return since, err
}

// BlockedBefore returns outcomes that are blocked since then or longer, the
// oldest first.
func (tx *Tx) BlockedBefore(since core.Millis, limit int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE delivery = 'blocked' AND blocked_at <= $1 ORDER BY blocked_at, id LIMIT $2`,
		int64(since), limit)
}

// TroubleOf returns the messages in trouble that were to tell a run's outcome,
// oldest first.
func (tx *Tx) TroubleOf(run string) ([]Outbox, error) {
	return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE state IN ('ambiguous', 'failed', 'blocked')
		AND ' ' || tells || ' ' LIKE '% ' || $1 || ' %' ORDER BY id`, run)
}

// ReissueOutbox puts a message in trouble into the outbox once more, under
// another once-key and from its first unsent part on, and withdraws the old one:
// that can never be sent again. ok is false if it is not in trouble any more.
func (tx *Tx) ReissueOutbox(old Outbox, key string, now core.Millis) (id int64, ok bool, err error) {
	n, err := tx.exec(`UPDATE outbox SET state = 'withdrawn', ended_at = $2 WHERE id = $1 AND state IN ('ambiguous', 'failed', 'blocked')`,
		old.ID, int64(now))
	if err != nil || n == 0 {
		return 0, false, err
	}
	fresh := old
	fresh.OnceKey, fresh.At = key, now
	if id, ok, err = tx.InsertOutbox(fresh); err != nil || !ok {
		return 0, ok, err
	}
	if _, err := tx.exec(`INSERT INTO sent_part (outbox_id, part, platform_id, at)
		SELECT $2, part, platform_id, at FROM sent_part WHERE outbox_id = $1`, old.ID, id); err != nil {
		return 0, false, err
	}
	_, err = tx.exec(`UPDATE outbox SET parts_sent = $2, resent = $3 WHERE id = $1`, id, old.PartsSent, old.Resent || old.State == OutAmbiguous)
	return id, true, err
}

// ToolsOfRun returns the names of the tools that a run has called, but for
// those whose effect is rows of the store.
func (tx *Tx) ToolsOfRun(run string) ([]string, error) {
	return all(tx, scanText, `SELECT DISTINCT s.tool FROM step AS s JOIN turn AS t ON t.id = s.turn_id WHERE t.run_id = $1 AND t.run_id <> '' ORDER BY s.tool`, run)
}

func scanText(s scanner) (text string, err error) {
	err = s.Scan(&text)
	return text, err
}

// Closing is a tool that has to be told of the end of a run.
type Closing struct{ Run, Tool string }

// NoteClosing records one.
func (tx *Tx) NoteClosing(c Closing, now core.Millis) error {
	return tx.later(`INSERT INTO run_closing (run_id, tool, at) VALUES ($1,$2,$3) ON CONFLICT (run_id, tool) DO NOTHING`, c.Run, c.Tool, int64(now))
}

// Closings returns those that were recorded until a time, the oldest first.
func (tx *Tx) Closings(until core.Millis, limit int) ([]Closing, error) {
	return all(tx, scanClosing, `SELECT run_id, tool FROM run_closing WHERE at <= $1 ORDER BY at, run_id, tool LIMIT $2`, int64(until), limit)
}

// ClosingsOf returns those of one run.
func (tx *Tx) ClosingsOf(run string) ([]Closing, error) {
	return all(tx, scanClosing, `SELECT run_id, tool FROM run_closing WHERE run_id = $1 ORDER BY tool`, run)
}

func scanClosing(s scanner) (c Closing, err error) {
	err = s.Scan(&c.Run, &c.Tool)
	return c, err
}

// DropClosing records that the tool was told.
func (tx *Tx) DropClosing(c Closing) error {
	return tx.later(`DELETE FROM run_closing WHERE run_id = $1 AND tool = $2`, c.Run, c.Tool)
}

// RestoreSession brings an archived session back, to be archived again at due; 0
// for never. ok is false if it is not archived.
func (tx *Tx) RestoreSession(id int64, due, now core.Millis) (ok bool, err error) {
	n, err := tx.exec(`UPDATE session SET archived_at = 0, archive_due = $2, used_at = $3 WHERE id = $1 AND archived_at > 0`, id, int64(due), int64(now))
	return n > 0, err
}

// WarnRun notes that a run was told that its time is nearly over; first is false
// if it was told before.
func (tx *Tx) WarnRun(run string, now core.Millis) (isFirst bool, err error) {
	n, err := tx.exec(`UPDATE run SET warned_at = $2 WHERE id = $1 AND warned_at = 0`, run, int64(now))
	return n > 0, err
}
