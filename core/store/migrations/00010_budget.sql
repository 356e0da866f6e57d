-- +goose Up
-- A request is what a person, a schedule or the outcome of an earlier one began
-- at top level: its first turn, whose id names it, the turns that continue that
-- one, and every run below. 0 in a turn is the turn's own id.

ALTER TABLE turn ADD COLUMN request BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN request BIGINT NOT NULL DEFAULT 0;
UPDATE run SET request = requester_turn WHERE requester_run = '';
UPDATE run SET request = COALESCE((SELECT above.request FROM run AS above WHERE above.id = run.requester_run), 0) WHERE requester_run <> '' AND depth = 2;
UPDATE run SET request = COALESCE((SELECT above.request FROM run AS above WHERE above.id = run.requester_run), 0) WHERE requester_run <> '' AND depth = 3;
UPDATE run SET request = COALESCE((SELECT above.request FROM run AS above WHERE above.id = run.requester_run), 0) WHERE requester_run <> '' AND depth = 4;
UPDATE run SET request = COALESCE((SELECT above.request FROM run AS above WHERE above.id = run.requester_run), 0) WHERE requester_run <> '' AND depth = 5;
UPDATE turn SET request = chain WHERE run_id = '';
UPDATE turn SET request = COALESCE((SELECT run.request FROM run WHERE run.id = turn.run_id), 0) WHERE run_id <> '';
CREATE INDEX run_request_live ON run (request) WHERE status IN ('queued', 'running', 'waiting');

-- What was spent: of a whole request where run_id is '', else of a run with
-- everything below it. Cost is in millionths of a US dollar; unpriced counts
-- tokens without a price.
CREATE TABLE spend (
  request   BIGINT NOT NULL,
  run_id    TEXT NOT NULL,
  tokens    BIGINT NOT NULL,
  micro_usd BIGINT NOT NULL,
  unpriced  BIGINT NOT NULL,
  at        BIGINT NOT NULL,
  PRIMARY KEY (request, run_id)
);
CREATE INDEX spend_at ON spend (at);

-- What an agent's own calls spent on a day of UTC. The sum over the shards
-- counts; there are several so that sessions do not wait for each other.
CREATE TABLE spend_day (
  agent     TEXT NOT NULL,
  day       BIGINT NOT NULL,
  shard     BIGINT NOT NULL,
  tokens    BIGINT NOT NULL,
  micro_usd BIGINT NOT NULL,
  unpriced  BIGINT NOT NULL,
  PRIMARY KEY (agent, day, shard)
);
CREATE INDEX spend_day_day ON spend_day (day);

CREATE INDEX usage_day_session ON usage_day (session_id);
