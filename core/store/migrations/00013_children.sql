-- +goose Up
-- The children of a session, however many have ended: those of a turn, those
-- that ended a short while ago, and the sessions of theirs that are not archived.
CREATE INDEX run_requester_turn ON run (requester_id, requester_turn);
CREATE INDEX run_requester_ended ON run (requester_id, ended_at);
CREATE INDEX session_children ON session (parent_id) WHERE archived_at = 0;
