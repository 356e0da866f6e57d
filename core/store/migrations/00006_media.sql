-- +goose Up
-- The pictures that came with messages, in base64, as models get them.

CREATE TABLE media (
  id         TEXT PRIMARY KEY,
  session_id BIGINT NOT NULL,
  type       TEXT NOT NULL,
  size       BIGINT NOT NULL,
  data       TEXT NOT NULL,
  at         BIGINT NOT NULL
);
CREATE INDEX media_session ON media (session_id);
CREATE INDEX media_at ON media (at);
