-- +goose Up
-- What was said in a group without addressing the bot, until the next message
-- that does takes it as context.
CREATE TABLE history (
  id           {{id}},
  channel      TEXT NOT NULL,
  account      TEXT NOT NULL,
  conversation TEXT NOT NULL,
  thread       TEXT NOT NULL,
  message      TEXT NOT NULL,
  owner        TEXT NOT NULL,
  body         TEXT NOT NULL,
  at           BIGINT NOT NULL
);
CREATE INDEX history_place ON history (conversation, thread, account, channel, at, id);
CREATE UNIQUE INDEX history_message ON history (conversation, message, account, channel);
CREATE INDEX history_at ON history (at);
CREATE INDEX history_owner ON history (owner);

-- Rows that a retry put new ones in the place of: the newest row there was at
-- that moment, 0 for rows that stand.
ALTER TABLE transcript ADD COLUMN replaced BIGINT NOT NULL DEFAULT 0;
