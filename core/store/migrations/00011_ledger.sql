-- +goose Up
-- Who is told what of a task: done_only, state_changes or silent.
ALTER TABLE run ADD COLUMN notify TEXT NOT NULL DEFAULT 'done_only';

-- The lists of the ledger, newest first.
DROP INDEX run_created;
CREATE INDEX run_created ON run (created_at, id);
CREATE INDEX run_by_status ON run (status, created_at, id);
CREATE INDEX run_by_agent ON run (agent, created_at, id);
CREATE INDEX run_by_kind ON run (kind, created_at, id);

-- What the audit looks for.
CREATE INDEX run_blocked_at ON run (ended_at) WHERE delivery = 'blocked';
CREATE INDEX run_untold ON run (ended_at) WHERE delivery IN ('pending', 'session_queued') AND status NOT IN ('queued', 'running', 'waiting');
CREATE INDEX run_odd ON run (id) WHERE (ended_at > 0 AND ended_at < started_at OR started_at > 0 AND started_at < created_at
  OR ended_at = 0 AND status NOT IN ('queued', 'running', 'waiting') OR ended_at > 0 AND status IN ('queued', 'running', 'waiting'));
CREATE INDEX session_open ON session (kind, used_at) WHERE archived_at = 0;

-- Events in transcripts, and the messages of a run.
CREATE INDEX transcript_event ON transcript (session_id, id) WHERE kind = 'completion';
CREATE INDEX outbox_session ON outbox (session_id, id) WHERE session_id > 0;
