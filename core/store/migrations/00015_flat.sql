-- +goose Up
-- What a session said before the end of a turn, of however many messages.
CREATE INDEX outbox_progress ON outbox (session_id, id) WHERE kind = 'progress';

-- What a requester is told of its sub-agents, and what is below it, of however
-- many that have ended: the outcomes that are to be told yet, the trees it has
-- part in, and the sessions below it that asked for something themselves.
CREATE INDEX run_awaited ON run (requester_id, ordinal) WHERE delivery IN ('session_queued', 'blocked');
CREATE INDEX run_requester_root ON run (requester_id, root_run_id);
CREATE INDEX session_asking ON session (parent_id, id) WHERE ordinals > 0;
DROP INDEX run_blocked;
