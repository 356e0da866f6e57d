-- +goose Up
-- Since when a turn is in work without an orderly stop, 0 while it lies where one
-- put it: only what a crash left can be too old to go on.
ALTER TABLE turn ADD COLUMN worked_from BIGINT NOT NULL DEFAULT 0;
UPDATE turn SET worked_from = started_at WHERE state = 'running';
