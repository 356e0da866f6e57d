-- +goose Up
-- What became of outcomes that nobody was told: since when they are blocked,
-- and how often an operator had them told anew. warned_at is when a run was told
-- that most of its time is over.

ALTER TABLE run ADD COLUMN blocked_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN retellings BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN warned_at BIGINT NOT NULL DEFAULT 0;
UPDATE run SET blocked_at = ended_at WHERE delivery = 'blocked';
CREATE INDEX run_blocked_tree ON run (root_run_id) WHERE delivery = 'blocked';
CREATE INDEX run_blocked_since ON run (blocked_at) WHERE delivery = 'blocked';

-- The tools that keep something for a run which has ended, until they have been
-- told of its end.

CREATE TABLE run_closing (
  run_id TEXT NOT NULL,
  tool   TEXT NOT NULL,
  at     BIGINT NOT NULL,
  PRIMARY KEY (run_id, tool)
);
