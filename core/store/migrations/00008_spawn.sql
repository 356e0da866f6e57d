-- +goose Up
-- What a spawn has outside its run and its session.

-- The first result of a spawn that was asked for under a key of the requester's:
-- of a run, or of the first turn of a chain ("run/<id>", "turn/<number>").
CREATE TABLE spawn_key (
  requester TEXT NOT NULL,
  key       TEXT NOT NULL,
  run_id    TEXT NOT NULL,
  result    TEXT NOT NULL,
  PRIMARY KEY (requester, key)
);
CREATE INDEX spawn_key_run ON spawn_key (run_id);

-- Arguments of a tool call that the transcript does not keep, as the model wrote
-- them, until the call has a result.
CREATE TABLE withheld (
  turn_id BIGINT NOT NULL,
  seq     BIGINT NOT NULL,
  args    TEXT NOT NULL,
  at      BIGINT NOT NULL,
  PRIMARY KEY (turn_id, seq)
);
CREATE INDEX withheld_at ON withheld (at);

-- The folder of the files that a spawn handed to a session: root is the
-- workspace, dir the path inside it.
CREATE TABLE attachment (
  session_id BIGINT PRIMARY KEY,
  root       TEXT NOT NULL,
  dir        TEXT NOT NULL,
  files      BIGINT NOT NULL,
  bytes      BIGINT NOT NULL,
  state      TEXT NOT NULL,
  at         BIGINT NOT NULL
);
CREATE INDEX attachment_gone ON attachment (at) WHERE state = 'gone';

-- Managed git worktrees. base is the commit where the branch began, snapshot the
-- commit that keeps what was in it when it was removed.
CREATE TABLE worktree (
  id         TEXT PRIMARY KEY,
  session_id BIGINT NOT NULL,
  name       TEXT NOT NULL,
  repo       TEXT NOT NULL,
  path       TEXT NOT NULL,
  branch     TEXT NOT NULL,
  base       TEXT NOT NULL DEFAULT '',
  snapshot   TEXT NOT NULL DEFAULT '',
  state      TEXT NOT NULL,
  detail     TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  ended_at   BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX worktree_path ON worktree (path) WHERE state <> 'removed';
CREATE INDEX worktree_session ON worktree (session_id);
CREATE INDEX worktree_state ON worktree (state, created_at);

-- The heading under which a visible session is listed.
ALTER TABLE session ADD COLUMN category TEXT NOT NULL DEFAULT '';
