-- +goose Up
-- What operators ask of a store: limits for each person, alerts, and which rows
-- are whose.

-- The person ("channel:id") behind a row, '' where it is nobody's: what a person
-- wrote, and what was written because of it.
ALTER TABLE transcript ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX transcript_owner ON transcript (owner, id) WHERE owner <> '';
ALTER TABLE outbox ADD COLUMN owner TEXT NOT NULL DEFAULT '';

CREATE INDEX turn_owner ON turn (owner, started_at) WHERE owner <> '';

-- How fast a person writes: the messages of the last minute, and how many were
-- not taken since the person was last told so.
CREATE TABLE pace (
  person TEXT PRIMARY KEY,
  recent TEXT NOT NULL DEFAULT '',
  missed BIGINT NOT NULL DEFAULT 0,
  at     BIGINT NOT NULL
);
CREATE INDEX pace_at ON pace (at);

-- Trouble that an operator should know of. told_at is when it was last sent to
-- alerts.to.
CREATE TABLE alert (
  kind     TEXT NOT NULL,
  subject  TEXT NOT NULL,
  text     TEXT NOT NULL,
  remedy   TEXT NOT NULL,
  times    BIGINT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at  BIGINT NOT NULL,
  told_at  BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (kind, subject)
);
CREATE INDEX alert_last ON alert (last_at);
