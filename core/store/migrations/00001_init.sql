-- +goose Up
-- Times are milliseconds since 1970 in UTC; 0 means none. JSON is TEXT.

CREATE TABLE node (
  id         TEXT PRIMARY KEY,
  started_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  detail     TEXT NOT NULL DEFAULT ''
);

CREATE TABLE session (
  id           {{id}},
  key          TEXT NOT NULL UNIQUE,
  agent        TEXT NOT NULL,
  kind         TEXT NOT NULL,
  address      TEXT NOT NULL DEFAULT '',
  title        TEXT NOT NULL DEFAULT '',
  generation   BIGINT NOT NULL DEFAULT 1,
  context_from BIGINT NOT NULL DEFAULT 0,
  fork_session BIGINT NOT NULL DEFAULT 0,
  fork_generation BIGINT NOT NULL DEFAULT 0,
  fork_row     BIGINT NOT NULL DEFAULT 0,
  depth        BIGINT NOT NULL DEFAULT 0,
  parent_id    BIGINT NOT NULL DEFAULT 0,
  ordinals     BIGINT NOT NULL DEFAULT 0,
  completions  BIGINT NOT NULL DEFAULT 0,
  waits        BIGINT NOT NULL DEFAULT 0,
  queue_mode   TEXT NOT NULL DEFAULT '',
  model        TEXT NOT NULL DEFAULT '',
  owner        TEXT NOT NULL DEFAULT '',
  fence        BIGINT NOT NULL DEFAULT 0,
  ready        BIGINT NOT NULL DEFAULT 0,
  ready_at     BIGINT NOT NULL DEFAULT 0,
  created_at   BIGINT NOT NULL,
  used_at      BIGINT NOT NULL,
  archive_due  BIGINT NOT NULL DEFAULT 0,
  archived_at  BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX session_ready ON session (ready_at) WHERE ready = 1;
CREATE INDEX session_owned ON session (owner) WHERE owner <> '';
CREATE INDEX session_parent ON session (parent_id) WHERE parent_id > 0;
CREATE INDEX session_archived ON session (archived_at) WHERE archived_at > 0;
CREATE INDEX session_fork ON session (fork_session) WHERE fork_session > 0;
CREATE INDEX session_archive ON session (archive_due) WHERE archive_due > 0;

CREATE TABLE session_setting (
  session_id BIGINT NOT NULL,
  name       TEXT NOT NULL,
  value      TEXT NOT NULL,
  PRIMARY KEY (session_id, name)
);

CREATE TABLE inbox (
  id         {{id}},
  session_id BIGINT NOT NULL,
  kind       TEXT NOT NULL,
  state      TEXT NOT NULL,
  lane       TEXT NOT NULL,
  reply_to   TEXT NOT NULL DEFAULT '',
  anchor     TEXT NOT NULL DEFAULT '',
  policy     TEXT NOT NULL DEFAULT '',
  owner      TEXT NOT NULL DEFAULT '',
  source     TEXT NOT NULL DEFAULT '',
  run_id     TEXT NOT NULL DEFAULT '',
  for_run    TEXT NOT NULL DEFAULT '',
  ordinal    BIGINT NOT NULL DEFAULT 0,
  body       TEXT NOT NULL,
  chain      BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL
);
CREATE INDEX inbox_session ON inbox (session_id, state, id);
CREATE INDEX inbox_source ON inbox (source) WHERE source <> '';

CREATE TABLE dedupe (
  key TEXT PRIMARY KEY,
  at  BIGINT NOT NULL
){{keyed}};
CREATE INDEX dedupe_at ON dedupe (at);

CREATE TABLE cursor (
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  name    TEXT NOT NULL,
  value   TEXT NOT NULL,
  at      BIGINT NOT NULL,
  PRIMARY KEY (channel, account, name)
);

CREATE TABLE turn (
  id          {{id}},
  session_id  BIGINT NOT NULL,
  generation  BIGINT NOT NULL,
  chain       BIGINT NOT NULL DEFAULT 0,
  run_id      TEXT NOT NULL DEFAULT '',
  kind        TEXT NOT NULL,
  lane        TEXT NOT NULL,
  state       TEXT NOT NULL,
  reply_to    TEXT NOT NULL DEFAULT '',
  anchor      TEXT NOT NULL DEFAULT '',
  policy      TEXT NOT NULL DEFAULT '',
  owner       TEXT NOT NULL DEFAULT '',
  fence       BIGINT NOT NULL,
  attempts    BIGINT NOT NULL DEFAULT 0,
  seq         BIGINT NOT NULL DEFAULT 0,
  tokens_in   BIGINT NOT NULL DEFAULT 0,
  tokens_out  BIGINT NOT NULL DEFAULT 0,
  started_at  BIGINT NOT NULL,
  ended_at    BIGINT NOT NULL DEFAULT 0,
  detail      TEXT NOT NULL DEFAULT ''
);
CREATE INDEX turn_session ON turn (session_id, id);
CREATE INDEX turn_run ON turn (run_id) WHERE run_id <> '';

CREATE TABLE step (
  turn_id    BIGINT NOT NULL,
  seq        BIGINT NOT NULL,
  call_id    TEXT NOT NULL,
  tool       TEXT NOT NULL,
  state      TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at   BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (turn_id, seq)
);

CREATE TABLE intent (
  turn_id BIGINT NOT NULL,
  seq     BIGINT NOT NULL,
  kind    TEXT NOT NULL,
  state   TEXT NOT NULL,
  ref     TEXT NOT NULL DEFAULT '',
  body    TEXT NOT NULL DEFAULT '',
  at      BIGINT NOT NULL,
  PRIMARY KEY (turn_id, seq)
);
CREATE INDEX intent_open ON intent (at) WHERE state = 'open';

CREATE TABLE wait (
  turn_id    BIGINT PRIMARY KEY,
  session_id BIGINT NOT NULL,
  run_id     TEXT NOT NULL DEFAULT '',
  kind       TEXT NOT NULL,
  need       BIGINT NOT NULL,
  batch      TEXT NOT NULL,
  reply_to   TEXT NOT NULL,
  anchor     TEXT NOT NULL DEFAULT '',
  note       TEXT NOT NULL DEFAULT '',
  deadline   BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL
);
CREATE INDEX wait_session ON wait (session_id);

CREATE TABLE transcript (
  id         {{id}},
  session_id BIGINT NOT NULL,
  generation BIGINT NOT NULL,
  turn_id    BIGINT NOT NULL,
  seq        BIGINT NOT NULL,
  kind       TEXT NOT NULL,
  body       TEXT NOT NULL,
  at         BIGINT NOT NULL
);
CREATE INDEX transcript_session ON transcript (session_id, generation, id);

CREATE TABLE run (
  id             TEXT PRIMARY KEY,
  root_run_id    TEXT NOT NULL,
  task_id        TEXT NOT NULL UNIQUE,
  kind           TEXT NOT NULL,
  session_id     BIGINT NOT NULL,
  session_key    TEXT NOT NULL,
  requester_id   BIGINT NOT NULL,
  requester_key  TEXT NOT NULL,
  requester_run  TEXT NOT NULL DEFAULT '',
  requester_turn BIGINT NOT NULL,
  ordinal        BIGINT NOT NULL,
  completion     BIGINT NOT NULL DEFAULT 1,
  depth          BIGINT NOT NULL,
  role           TEXT NOT NULL,
  agent          TEXT NOT NULL,
  task           TEXT NOT NULL,
  task_name      TEXT NOT NULL DEFAULT '',
  label          TEXT NOT NULL DEFAULT '',
  origin         TEXT NOT NULL,
  origin_parent  TEXT NOT NULL DEFAULT '',
  anchor         TEXT NOT NULL DEFAULT '',
  owner          TEXT NOT NULL DEFAULT '',
  spec           TEXT NOT NULL,
  status         TEXT NOT NULL,
  delivery       TEXT NOT NULL,
  detail         TEXT NOT NULL DEFAULT '',
  result         TEXT NOT NULL DEFAULT '',
  is_partial     BIGINT NOT NULL DEFAULT 0,
  resumes        BIGINT NOT NULL DEFAULT 0,
  resumed_at     BIGINT NOT NULL DEFAULT 0,
  tokens_in      BIGINT NOT NULL DEFAULT 0,
  tokens_out     BIGINT NOT NULL DEFAULT 0,
  created_at     BIGINT NOT NULL,
  started_at     BIGINT NOT NULL DEFAULT 0,
  ended_at       BIGINT NOT NULL DEFAULT 0,
  delivered_at   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX run_requester_live ON run (requester_id) WHERE status IN ('queued', 'running', 'waiting');
CREATE INDEX run_root_live ON run (root_run_id) WHERE status IN ('queued', 'running', 'waiting');
CREATE INDEX run_session ON run (session_id, id);
CREATE INDEX run_requester ON run (requester_id, created_at);
CREATE INDEX run_of_run ON run (requester_run) WHERE requester_run <> '';
CREATE INDEX run_created ON run (created_at);
CREATE INDEX run_blocked ON run (requester_id) WHERE delivery = 'blocked';

CREATE TABLE binding (
  id             TEXT PRIMARY KEY,
  channel        TEXT NOT NULL,
  account        TEXT NOT NULL,
  conversation   TEXT NOT NULL,
  thread         TEXT NOT NULL,
  parent         TEXT NOT NULL DEFAULT '',
  session_id     BIGINT NOT NULL,
  session_key    TEXT NOT NULL,
  target         TEXT NOT NULL,
  agent          TEXT NOT NULL,
  label          TEXT NOT NULL,
  owner          TEXT NOT NULL,
  placement      TEXT NOT NULL,
  idle           BIGINT,
  max_age        BIGINT,
  bound_at       BIGINT NOT NULL,
  last_activity  BIGINT NOT NULL,
  busy_until     BIGINT NOT NULL DEFAULT 0,
  due_at         BIGINT NOT NULL DEFAULT 0,
  deadline       BIGINT NOT NULL DEFAULT 0,
  status         TEXT NOT NULL,
  suspend_reason TEXT NOT NULL DEFAULT '',
  reason         TEXT NOT NULL DEFAULT '',
  ended_at       BIGINT NOT NULL DEFAULT 0,
  data           TEXT NOT NULL DEFAULT '',
  run_id         TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX binding_place ON binding (conversation, thread, account, channel) WHERE status <> 'ended' AND conversation <> '';
CREATE INDEX binding_was ON binding (conversation, thread, account, channel, ended_at) WHERE status = 'ended';
CREATE INDEX binding_parent ON binding (parent, account, channel) WHERE status <> 'ended' AND parent <> '';
CREATE INDEX binding_session ON binding (session_id) WHERE status <> 'ended';
CREATE INDEX binding_due ON binding (due_at) WHERE status IN ('active', 'suspended') AND due_at > 0;
CREATE INDEX binding_owner ON binding (owner) WHERE status <> 'ended';
CREATE INDEX binding_run ON binding (run_id) WHERE run_id <> '';
CREATE INDEX binding_ended ON binding (ended_at) WHERE status = 'ended';

CREATE TABLE outbox (
  id           {{id}},
  once_key     TEXT UNIQUE,
  kind         TEXT NOT NULL,
  channel      TEXT NOT NULL,
  account      TEXT NOT NULL,
  conversation TEXT NOT NULL,
  thread       TEXT NOT NULL,
  parent       TEXT NOT NULL DEFAULT '',
  anchor       TEXT NOT NULL DEFAULT '',
  persona      TEXT NOT NULL DEFAULT '',
  text         TEXT NOT NULL,
  state        TEXT NOT NULL,
  attempts     BIGINT NOT NULL DEFAULT 0,
  next_at      BIGINT NOT NULL DEFAULT 0,
  parts_sent   BIGINT NOT NULL DEFAULT 0,
  session_id   BIGINT NOT NULL DEFAULT 0,
  run_id       TEXT NOT NULL DEFAULT '',
  tells        TEXT NOT NULL DEFAULT '',
  resent       BIGINT NOT NULL DEFAULT 0,
  error        TEXT NOT NULL DEFAULT '',
  created_at   BIGINT NOT NULL,
  first_try_at BIGINT NOT NULL DEFAULT 0,
  ended_at     BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX outbox_open ON outbox (channel, account, id) WHERE state IN ('queued', 'sending');
CREATE INDEX outbox_trouble ON outbox (id) WHERE state IN ('ambiguous', 'failed', 'blocked');

CREATE TABLE sent_part (
  outbox_id   BIGINT NOT NULL,
  part        BIGINT NOT NULL,
  platform_id TEXT NOT NULL,
  at          BIGINT NOT NULL,
  PRIMARY KEY (outbox_id, part)
);

CREATE TABLE timer (
  kind    TEXT NOT NULL,
  ref     TEXT NOT NULL,
  due     BIGINT NOT NULL,
  payload TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (kind, ref)
);
CREATE INDEX timer_due ON timer (due);

CREATE TABLE once_notice (
  key TEXT PRIMARY KEY,
  at  BIGINT NOT NULL
);

CREATE TABLE tombstone (
  run_id TEXT PRIMARY KEY,
  reason TEXT NOT NULL,
  at     BIGINT NOT NULL
);

CREATE TABLE seal (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
