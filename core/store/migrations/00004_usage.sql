-- +goose Up
-- Costs are millionths of a US dollar. unpriced counts tokens whose price is
-- not known: with any of them the cost is only a part.

ALTER TABLE turn ADD COLUMN cache_read  BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN cache_write BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN micro_usd   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN unpriced    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN cache_read  BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN cache_write BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN micro_usd   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN unpriced    BIGINT NOT NULL DEFAULT 0;
UPDATE turn SET unpriced = tokens_in + tokens_out WHERE tokens_in + tokens_out > 0;
UPDATE run SET unpriced = tokens_in + tokens_out WHERE tokens_in + tokens_out > 0;

CREATE TABLE usage_day (
  owner       TEXT NOT NULL,
  day         BIGINT NOT NULL,
  session_id  BIGINT NOT NULL,
  turns       BIGINT NOT NULL,
  tokens_in   BIGINT NOT NULL,
  tokens_out  BIGINT NOT NULL,
  cache_read  BIGINT NOT NULL,
  cache_write BIGINT NOT NULL,
  micro_usd   BIGINT NOT NULL,
  unpriced    BIGINT NOT NULL,
  PRIMARY KEY (owner, day, session_id)
);
CREATE INDEX usage_day_day ON usage_day (day);
