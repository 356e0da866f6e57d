-- +goose Up
-- How often a bot ("channel:id") wrote in a conversation of late, and until when
-- it is not heard there, because it and this one may be answering each other.

CREATE TABLE loop_guard (
  bot          TEXT NOT NULL,
  place        TEXT NOT NULL,
  recent       TEXT NOT NULL DEFAULT '',
  silent_until BIGINT NOT NULL DEFAULT 0,
  at           BIGINT NOT NULL,
  PRIMARY KEY (bot, place)
);
CREATE INDEX loop_guard_at ON loop_guard (at);
