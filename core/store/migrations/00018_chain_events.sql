-- +goose Up
-- The outcomes that the turns of a chain took, however long its session is.
CREATE INDEX transcript_turn_event ON transcript (turn_id) WHERE kind = 'completion';
