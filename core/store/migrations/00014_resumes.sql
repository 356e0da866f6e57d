-- +goose Up
-- When a run was resumed the time before the last one: the third resume within
-- two minutes gives it up.
ALTER TABLE run ADD COLUMN resumed_before BIGINT NOT NULL DEFAULT 0;
