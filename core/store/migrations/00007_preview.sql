-- +goose Up
-- A preview is a message that shows an answer while it is written. The message
-- that replaces it names it: the answer, or an order to remove it.

ALTER TABLE outbox ADD COLUMN preview BIGINT NOT NULL DEFAULT 0;
CREATE INDEX outbox_preview ON outbox (preview) WHERE preview > 0;
CREATE INDEX outbox_previews ON outbox (session_id) WHERE kind = 'preview' AND state IN ('queued', 'sending', 'sent');
