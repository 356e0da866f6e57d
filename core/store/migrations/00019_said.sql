-- +goose Up
-- Whether a row says something: 0 for results of tools, and for answers that only
-- call tools (the body, JSON, has no text then). Histories are shown a page at a
-- time; how many messages there are and where a page begins is read from the
-- index alone.
ALTER TABLE transcript ADD COLUMN said BIGINT GENERATED ALWAYS AS (CASE WHEN kind = 'tool'
  OR kind = 'assistant' AND substr(body, 1, 28) <> '{"kind":"assistant","text":"' THEN 0 ELSE 1 END) {{computed}};
DROP INDEX transcript_session;
CREATE INDEX transcript_session ON transcript (session_id, generation, id, said, replaced);
