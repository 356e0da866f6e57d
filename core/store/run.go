package store

import (
	"cmp"
	"encoding/json"

	"github.com/skein-bot/skein/core"
)

const runColumns = `id, request, root_run_id, task_id, kind, session_id, session_key, requester_id, requester_key, requester_run, requester_turn, ordinal,
	completion, depth, role, agent, task, task_name, label, origin, anchor, owner, spec, status, delivery, detail, result, is_partial,
	tokens_in, tokens_out, cache_read, cache_write, micro_usd, unpriced, created_at, started_at, ended_at, delivered_at, notify`

const liveStatuses = `('queued', 'running', 'waiting')`

func scanRun(s scanner) (core.Run, error) {
	var r core.Run
	var origin, spec string
	err := s.Scan(&r.ID, &r.Request, &r.Root, &r.TaskID, &r.Kind, &r.Session, &r.SessionKey, &r.Requester, &r.RequesterID, &r.RequesterRun, &r.RequesterTurn,
		&r.Ordinal, &r.Completion, &r.Depth, &r.Role, &r.Agent, &r.Task, &r.TaskName, &r.Label, &origin, &r.Anchor, &r.Owner, &spec,
		&r.Status, &r.Delivery, &r.Detail, &r.Result, &r.Partial, &r.TokensIn, &r.TokensOut,
		&r.CacheRead, &r.CacheWrite, &r.MicroUSD, &r.Unpriced, &r.CreatedAt, &r.StartedAt, &r.EndedAt, &r.DeliveredAt, &r.Notify)
	if err == nil {
		err = json.Unmarshal([]byte(spec), &r.Spec)
	}
	r.Origin = parseAddress(origin)
	return r, err
}

// InsertRun writes the lineage row of a spawn. Without a kind it is a
// sub-agent's, without a policy the default. Without a request it is part of that
// of the run or the turn that asked; one that nothing asked for, by the clock for
// example, begins a request with its first turn (InsertTurn).
func (tx *Tx) InsertRun(r core.Run) error {
	spec, err := json.Marshal(r.Spec)
	if err != nil {
		return err
	}
	if r.Request == 0 {
		if r.Request, err = tx.RequestOf(Inbox{ForRun: r.RequesterRun, Kind: InboxCompletion, Chain: r.RequesterTurn}); err != nil {
			return err
		}
	}
	kind, notify := cmp.Or(r.Kind, core.RunSubagent), cmp.Or(r.Notify, core.NotifyDone)
	return tx.later(`INSERT INTO run (id, root_run_id, task_id, session_id, session_key, requester_id, requester_key, requester_run,
		requester_turn, ordinal, completion, depth, role, agent, task, task_name, label, origin, anchor, owner, spec, status, delivery,
		created_at, kind, notify, request) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26,$27)`,
		r.ID, r.Root, r.TaskID, r.Session, r.SessionKey, r.Requester, r.RequesterID, r.RequesterRun, r.RequesterTurn, r.Ordinal,
		r.Completion, r.Depth, r.Role, r.Agent, r.Task, r.TaskName, r.Label, formatAddress(r.Origin), r.Anchor, r.Owner, string(spec),
		string(r.Status), string(r.Delivery), int64(r.CreatedAt), string(kind), string(notify), r.Request)
}

// DeleteRun removes a reserved run, to undo a refused spawn.
func (tx *Tx) DeleteRun(id string) error {
	return tx.later(`DELETE FROM run WHERE id = $1 AND started_at = 0`, id)
}

// RunByID returns a run, or ErrNotFound.
func (tx *Tx) RunByID(id string) (core.Run, error) {
	return first(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE id = $1`, id)
}

// RunByTask returns the run of a task, or ErrNotFound.
func (tx *Tx) RunByTask(task string) (core.Run, error) {
	return first(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE task_id = $1`, task)
}

// RunsByPrefix returns runs whose id begins with prefix.
func (tx *Tx) RunsByPrefix(prefix string, limit int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3`, prefix, prefix+"~", limit)
}

// LiveRunsOf returns the runs that a session asked for and that have not ended,
// in spawn order, those that nothing moves too: for a stop.
func (tx *Tx) LiveRunsOf(requester int64) ([]core.Run, error) {
	if err := tx.LockSession(requester); err != nil {
		return nil, err
	}
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE requester_id = $1 AND status IN `+liveStatuses+` ORDER BY ordinal`, requester)
}

// CountLiveRunsOf counts the live runs that a session asked for: those that have
// not ended and that something moves.
func (tx *Tx) CountLiveRunsOf(requester int64) (n int, err error) {
	if err := tx.LockSession(requester); err != nil {
		return 0, err
	}
	err = tx.one(`SELECT COUNT(*) FROM run WHERE requester_id = $1 AND `+live, []any{requester}, &n)
	return n, err
}

// CountOthersOfTree counts the live runs of a tree but for one, which the unit
// adds: it is the only one to add to the tree until it ends. Call it once the
// unit has locked its sessions and bindings.
func (tx *Tx) CountOthersOfTree(root, run string) (n int, err error) {
	if err := tx.lockTree(root); err != nil {
		return 0, err
	}
	err = tx.one(`SELECT COUNT(*) FROM run WHERE root_run_id = $1 AND id <> $2 AND `+live, []any{root, run}, &n)
	return n, err
}

// ChildrenOfChain returns the runs that a chain of turns of a session spawned,
// in spawn order.
func (tx *Tx) ChildrenOfChain(requester, chain int64) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE requester_id = $1 AND requester_turn = $2 ORDER BY ordinal`, requester, chain)
}

// LatestRunOfSession returns the newest run of a child session, or
// ErrNotFound. What other sessions sent to it does not count.
func (tx *Tx) LatestRunOfSession(session int64) (core.Run, error) {
	return first(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE session_id = $1 AND kind <> 'send' ORDER BY id DESC LIMIT 1`, session)
}

// LiveRunOfSession returns the live run of a child session, or ErrNotFound. What
// other sessions sent to it does not count.
func (tx *Tx) LiveRunOfSession(session int64) (core.Run, error) {
	return first(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE session_id = $1 AND kind <> 'send' AND status IN `+liveStatuses+` ORDER BY id DESC LIMIT 1`, session)
}

// LiveRuns lists every run that has not ended, oldest first, whether or not
// something moves it.
func (tx *Tx) LiveRuns(limit int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE status IN `+liveStatuses+` ORDER BY created_at, id LIMIT $1`, limit)
}

// SetRunStatus moves a live run between queued, running and waiting.
func (tx *Tx) SetRunStatus(id string, status core.RunStatus, now core.Millis) error {
	return tx.later(`UPDATE run SET status = $2, started_at = CASE WHEN started_at = 0 AND $2 = 'running' THEN $3 ELSE started_at END
		WHERE id = $1 AND status IN `+liveStatuses, id, string(status), int64(now))
}

// EndRun ends a live run; ok is false if it had ended already.
func (tx *Tx) EndRun(id string, status core.RunStatus, detail, result string, partial bool, delivery core.Delivery, now core.Millis) (ok bool, err error) {
	p := 0
	if partial {
		p = 1
	}
	n, err := tx.exec(`UPDATE run SET status = $2, detail = $3, result = $4, is_partial = $5, delivery = $6, ended_at = $7
		WHERE id = $1 AND status IN `+liveStatuses, id, string(status), detail, result, p, string(delivery), int64(now))
	return n > 0, err
}

// SetDelivery records how far a run's outcome has come.
func (tx *Tx) SetDelivery(id string, d core.Delivery, detail string, now core.Millis) error {
	delivered := int64(0)
	if d == core.DeliveryDelivered {
		delivered = int64(now)
	}
	return tx.later(`UPDATE run SET delivery = $2, detail = CASE WHEN $3 = '' THEN detail ELSE $3 END,
		delivered_at = CASE WHEN CAST($4 AS BIGINT) > 0 THEN $4 ELSE delivered_at END,
		blocked_at = CASE WHEN $2 <> 'blocked' THEN 0 WHEN blocked_at > 0 THEN blocked_at ELSE $5 END
		WHERE id = $1 AND delivery NOT IN ('delivered', 'dismissed')`,
		id, string(d), detail, delivered, int64(now))
}

// AddRunUsage adds to what a run used.
func (tx *Tx) AddRunUsage(id string, u core.Usage) error {
	return tx.later(`UPDATE run SET tokens_in = tokens_in + $2, tokens_out = tokens_out + $3, cache_read = cache_read + $4,
		cache_write = cache_write + $5, micro_usd = micro_usd + $6, unpriced = unpriced + $7 WHERE id = $1`,
		id, u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWrite, u.MicroUSD, u.Unpriced)
}

// NoteResume counts a resume of a run after a crash and returns how many of the
// last three happened since after without a finished step in between;
// StepProgress sets it back.
func (tx *Tx) NoteResume(id string, now, after core.Millis) (n int, err error) {
	err = tx.one(`UPDATE run SET
			resumes = CASE WHEN resumes = 0 OR resumed_at < $3 THEN 1 WHEN resumes = 1 OR resumed_before < $3 THEN 2 ELSE 3 END,
			resumed_before = CASE WHEN resumes = 0 THEN 0 ELSE resumed_at END, resumed_at = $2
		WHERE id = $1 RETURNING resumes`, []any{id, int64(now), int64(after)}, &n)
	return n, err
}

// StepProgress notes that a run finished a step, so that its resumes do not
// count as a loop.
func (tx *Tx) StepProgress(id string) error {
	return tx.later(`UPDATE run SET resumes = 0 WHERE id = $1 AND resumes > 0`, id)
}

// InsertTombstone records that a run is given up for good.
func (tx *Tx) InsertTombstone(run, reason string, now core.Millis) error {
	return tx.later(`INSERT INTO tombstone (run_id, reason, at) VALUES ($1,$2,$3) ON CONFLICT (run_id) DO NOTHING`, run, reason, int64(now))
}

// LiveSendsTo returns what other sessions sent to a session and what it has not
// answered yet, oldest first.
func (tx *Tx) LiveSendsTo(session int64) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE session_id = $1 AND kind = 'send' AND status IN `+liveStatuses+` ORDER BY id`, session)
}

// SetRunResult keeps what a run said before it waits.
func (tx *Tx) SetRunResult(id, result string) error {
	return tx.later(`UPDATE run SET result = $2 WHERE id = $1 AND status IN `+liveStatuses, id, result)
}

// LiveTaskName returns the live run of a requester with that task name, or
// ErrNotFound.
func (tx *Tx) LiveTaskName(requester int64, name string) (core.Run, error) {
	return first(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE requester_id = $1 AND task_name = $2 AND `+live+` LIMIT 1`,
		requester, name)
}

// TranscriptSize returns the bytes of the prompt's rows up to row, inherited
// ones too, for the limit of forks.
func (tx *Tx) TranscriptSize(s Session, row int64) (size int64, err error) {
	spans, err := tx.spans(s, s.ContextFrom, row)
	if err != nil {
		return 0, err
	}
	for _, p := range spans {
		var n int64
		if err := tx.one(`SELECT COALESCE(SUM(OCTET_LENGTH(body)), 0) FROM transcript WHERE session_id = $1 AND generation = $2
			AND id >= $3 AND id <= $4`+standing, []any{p.session, p.generation, p.from, p.upTo}, &n); err != nil {
			return 0, err
		}
		size += n
	}
	return size, nil
}

// SetRunSpec replaces the resolved spec of a run that has not started.
func (tx *Tx) SetRunSpec(id string, spec core.SpawnSpec) error {
	b, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	return tx.later(`UPDATE run SET spec = $2 WHERE id = $1 AND started_at = 0`, id, string(b))
}
