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

// SettleAsked records that nobody is to be told the outcomes of the runs that a
// session asked for and that are on their way to it: a person stopped it.
func (tx *Tx) SettleAsked(requester int64) error {
	return tx.later(`UPDATE run SET delivery = 'not_required' WHERE requester_id = $1 AND delivery = 'session_queued'`, requester)
}
