package store

import (
	"fmt"
	"strconv"

	"github.com/skein-bot/skein/core"
)

// Grown names something that grows with use and is swept after a while.
type Grown string

// What is swept, and the time from which its age counts.
const (
	GrownDedupe     Grown = "dedupe"     // keys of updates, from their arrival
	GrownOutbox     Grown = "outbox"     // messages that nobody need look at, with their receipts, from their end
	GrownHistory    Grown = "history"    // messages of groups that nobody's question has taken, from their arrival
	GrownNotices    Grown = "notices"    // notes that a notice was given or a run undone
	GrownArchived   Grown = "archived"   // archived sessions with all that is theirs, from the archiving
	GrownTranscript Grown = "transcript" // rows of turns that have ended, of all sessions
	GrownTurns      Grown = "turns"      // turns that have ended, with their tool calls, of all sessions; their transcript stays
	GrownAlerts     Grown = "alerts"     // alerts, from when they happened last
	GrownPace       Grown = "pace"       // how fast people write, from their last message
	GrownTalks      Grown = "talks"      // how often bots write, from their last message
	GrownMedia      Grown = "media"      // pictures that came with messages, from their arrival
	GrownUsage      Grown = "usage"      // what people used, from the end of the day
	GrownSpend      Grown = "spend"      // what requests spent in which no run lives, from their last call
	GrownSpendDays  Grown = "spend days" // what agents spent, from the end of the day
)

// archivedFree are the archived sessions that nothing needs: none was forked
// from them, no run of theirs is alive, and people know how their runs ended.
const archivedFree = `FROM session AS s WHERE s.archived_at > 0
	AND NOT EXISTS (SELECT 1 FROM session AS f WHERE f.fork_session = s.id AND f.fork_session > 0)
	AND NOT EXISTS (SELECT 1 FROM run AS r WHERE r.session_id = s.id AND (r.status IN ` + liveStatuses + `
		OR r.delivery IN ('pending', 'session_queued', 'blocked')))`

// The oldest rows of tables without an index on what their age counts from, at
// being 0 for a row that must stay. Rows get old in the order of their ids, but
// for a few.
const (
	outboxHead = `(SELECT id, ended_at AS at FROM outbox WHERE state IN ('sent', 'withdrawn', 'dismissed') OR state = 'failed' AND tells = ''
		ORDER BY id LIMIT 1000) AS head WHERE at > 0`
	// A transcript stays whole while a turn of its session is in progress or
	// waits, or a live run began with it: what goes on after a crash reads the same as before.
	transcriptHead = `(SELECT t.id, CASE WHEN u.ended_at = 0
			OR EXISTS (SELECT 1 FROM session AS s WHERE s.id = t.session_id AND s.owner <> '')
			OR EXISTS (SELECT 1 FROM wait AS w WHERE w.session_id = t.session_id)
			OR EXISTS (SELECT 1 FROM session AS f JOIN run AS r ON r.session_id = f.id
				WHERE f.fork_session = t.session_id AND f.fork_session > 0 AND r.status IN ` + liveStatuses + `)
		THEN 0 ELSE t.at END AS at
		FROM transcript AS t LEFT JOIN turn AS u ON u.id = t.turn_id ORDER BY t.id LIMIT 1000) AS head WHERE at > 0`
	// What was spent counts as long as a run may go on with it.
	spendHead = `(SELECT request, run_id, CASE WHEN EXISTS (SELECT 1 FROM run AS r WHERE r.request = spend.request AND r.status IN ` + liveStatuses + `)
		THEN 0 ELSE spend.at END AS at FROM spend ORDER BY spend.at LIMIT 1000) AS head WHERE at > 0`
	// A turn stays that waits, that has an effect under way, or whose run lives.
	turnHead = `(SELECT u.id, CASE WHEN EXISTS (SELECT 1 FROM wait AS w WHERE w.turn_id = u.id)
			OR EXISTS (SELECT 1 FROM intent AS i WHERE i.turn_id = u.id AND i.state = 'open')
			OR u.run_id <> '' AND EXISTS (SELECT 1 FROM run AS r WHERE r.id = u.run_id AND r.status IN ` + liveStatuses + `)
		THEN 0 ELSE u.ended_at END AS at
		FROM turn AS u ORDER BY u.id LIMIT 1000) AS head WHERE at > 0`
)

// Oldest returns from when the age of the oldest counts that may be swept, 0 if
// there is none.
func (tx *Tx) Oldest(g Grown) (at core.Millis, err error) {
	query, ok := map[Grown]string{
		GrownDedupe:     `SELECT COALESCE(MIN(at), 0) FROM dedupe`,
		GrownOutbox:     `SELECT COALESCE(MIN(at), 0) FROM ` + outboxHead,
		GrownHistory:    `SELECT COALESCE(MIN(at), 0) FROM history`,
		GrownNotices:    `SELECT COALESCE(MIN(at), 0) FROM (SELECT MIN(at) AS at FROM once_notice UNION ALL SELECT MIN(at) AS at FROM tombstone) AS notices`,
		GrownArchived:   `SELECT COALESCE(MIN(s.archived_at), 0) ` + archivedFree,
		GrownTranscript: `SELECT COALESCE(MIN(at), 0) FROM ` + transcriptHead,
		GrownTurns:      `SELECT COALESCE(MIN(at), 0) FROM ` + turnHead,
		GrownAlerts:     `SELECT COALESCE(MIN(last_at), 0) FROM alert`,
		GrownPace:       `SELECT COALESCE(MIN(at), 0) FROM pace`,
		GrownTalks:      `SELECT COALESCE(MIN(at), 0) FROM loop_guard`,
		GrownMedia:      `SELECT COALESCE(MIN(at), 0) FROM media`,
		GrownUsage:      `SELECT COALESCE((MIN(day) + 1) * ` + strconv.Itoa(dayMillis) + `, 0) FROM usage_day`,
		GrownSpend:      `SELECT COALESCE(MIN(at), 0) FROM ` + spendHead,
		GrownSpendDays:  `SELECT COALESCE((MIN(day) + 1) * ` + strconv.Itoa(dayMillis) + `, 0) FROM spend_day`,
	}[g]
	if !ok {
		return 0, fmt.Errorf("store: %q is not swept", g)
	}
	err = tx.one(query, nil, &at)
	return at, err
}

// Sweep removes at most limit rows whose age counts from before that time, the
// oldest first, and returns how many. Of an archived session the transcript
// goes first, in as many calls as it takes.
func (tx *Tx) Sweep(g Grown, before core.Millis, limit int) (n int64, err error) {
	switch g {
	case GrownDedupe:
		return tx.exec(`DELETE FROM dedupe WHERE key IN (SELECT key FROM dedupe WHERE at < $1 ORDER BY at LIMIT $2)`, int64(before), limit)
	case GrownHistory:
		return tx.exec(`DELETE FROM history WHERE id IN (SELECT id FROM history WHERE at < $1 ORDER BY at LIMIT $2)`, int64(before), limit)
	case GrownNotices:
		n, err = tx.exec(`DELETE FROM once_notice WHERE key IN (SELECT key FROM once_notice WHERE at < $1 LIMIT $2)`, int64(before), limit)
		if err != nil || n == int64(limit) {
			return n, err
		}
		m, err := tx.exec(`DELETE FROM tombstone WHERE run_id IN (SELECT run_id FROM tombstone WHERE at < $1 LIMIT $2)`, int64(before), int64(limit)-n)
		return n + m, err
	case GrownOutbox:
		old := `(SELECT id FROM ` + outboxHead + ` AND at < $1 ORDER BY id LIMIT $2)`
		if _, err := tx.exec(`DELETE FROM sent_part WHERE outbox_id IN `+old, int64(before), limit); err != nil {
			return 0, err
		}
		return tx.exec(`DELETE FROM outbox WHERE id IN `+old, int64(before), limit)
	case GrownTranscript:
		return tx.exec(`DELETE FROM transcript WHERE id IN (SELECT id FROM `+transcriptHead+` AND at < $1 ORDER BY id LIMIT $2)`, int64(before), limit)
	case GrownMedia:
		return tx.exec(`DELETE FROM media WHERE id IN (SELECT id FROM media WHERE at < $1 ORDER BY at LIMIT $2)`, int64(before), limit)
	case GrownUsage:
		return tx.exec(`DELETE FROM usage_day WHERE (owner, day, session_id) IN (SELECT owner, day, session_id FROM usage_day
			WHERE day < $1 ORDER BY day LIMIT $2)`, int64(DayOf(before-1)), limit)
	case GrownSpend:
		return tx.exec(`DELETE FROM spend WHERE (request, run_id) IN (SELECT request, run_id FROM `+spendHead+` AND at < $1 ORDER BY at LIMIT $2)`,
			int64(before), limit)
	case GrownSpendDays:
		return tx.exec(`DELETE FROM spend_day WHERE (agent, day, shard) IN (SELECT agent, day, shard FROM spend_day
			WHERE day < $1 ORDER BY day LIMIT $2)`, int64(DayOf(before-1)), limit)
	case GrownTurns:
		old := `(SELECT id FROM ` + turnHead + ` AND at < $1 ORDER BY id LIMIT $2)`
		for _, table := range []string{"step", "intent", "withheld"} {
			if _, err := tx.exec(`DELETE FROM `+table+` WHERE turn_id IN `+old, int64(before), limit); err != nil {
				return 0, err
			}
		}
		return tx.exec(`DELETE FROM turn WHERE id IN `+old, int64(before), limit)
	case GrownAlerts:
		return tx.exec(`DELETE FROM alert WHERE (kind, subject) IN (SELECT kind, subject FROM alert WHERE last_at < $1 ORDER BY last_at LIMIT $2)`,
			int64(before), limit)
	case GrownPace:
		return tx.exec(`DELETE FROM pace WHERE person IN (SELECT person FROM pace WHERE at < $1 ORDER BY at LIMIT $2)`, int64(before), limit)
	case GrownTalks:
		return tx.exec(`DELETE FROM loop_guard WHERE (bot, place) IN (SELECT bot, place FROM loop_guard WHERE at < $1 ORDER BY at LIMIT $2)`, int64(before), limit)
	case GrownArchived:
		return tx.sweepArchived(before, limit)
	}
	return 0, fmt.Errorf("store: %q is not swept", g)
}

func (tx *Tx) sweepArchived(before core.Millis, limit int) (int64, error) {
	old := `(SELECT s.id ` + archivedFree + ` AND s.archived_at < $1)`
	n, err := tx.exec(`DELETE FROM transcript WHERE id IN (SELECT id FROM transcript WHERE session_id IN `+old+` LIMIT $2)`, int64(before), limit)
	if err != nil || n > 0 {
		return n, err
	}
	scanID := func(s scanner) (id int64, err error) {
		err = s.Scan(&id)
		return id, err
	}
	ids, err := all(tx, scanID, `SELECT s.id `+archivedFree+` AND s.archived_at < $1 ORDER BY s.archived_at, s.id LIMIT $2`, int64(before), limit)
	if err != nil {
		return 0, err
	}
	for _, session := range ids {
		for _, query := range []string{
			`DELETE FROM step WHERE turn_id IN (SELECT id FROM turn WHERE session_id = $1)`,
			`DELETE FROM withheld WHERE turn_id IN (SELECT id FROM turn WHERE session_id = $1)`,
			`UPDATE attachment SET state = 'gone' WHERE session_id = $1`,
			`DELETE FROM intent WHERE turn_id IN (SELECT id FROM turn WHERE session_id = $1)`,
			`DELETE FROM wait WHERE session_id = $1`,
			`DELETE FROM turn WHERE session_id = $1`,
			`DELETE FROM inbox WHERE session_id = $1`,
			`DELETE FROM media WHERE session_id = $1`,
			`DELETE FROM session_setting WHERE session_id = $1`,
			`DELETE FROM spawn_key WHERE run_id IN (SELECT id FROM run WHERE session_id = $1)`,
			`DELETE FROM run WHERE session_id = $1`,
			`DELETE FROM binding WHERE session_id = $1 AND status = 'ended'`,
			`DELETE FROM session WHERE id = $1`,
		} {
			if _, err := tx.exec(query, session); err != nil {
				return 0, err
			}
		}
	}
	return int64(len(ids)), nil
}
