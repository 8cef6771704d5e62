-- +goose Up

-- Environments in which no webhooks are sent, until people resume it.
CREATE TABLE webhook_pauses (
    environment  TEXT NOT NULL,
    since        TEXT NOT NULL,
    by_name      TEXT NOT NULL, -- the person
    reason       TEXT NOT NULL,
    CONSTRAINT webhook_pauses_pkey PRIMARY KEY (environment)
) STRICT;

-- Servers and workers, as each of them tells of itself every few seconds.
CREATE TABLE processes (
    id          TEXT NOT NULL, -- drawn as it started
    facts       TEXT NOT NULL, -- a JSON object
    started_at  TEXT NOT NULL,
    seen_at     TEXT NOT NULL,
    CONSTRAINT processes_pkey PRIMARY KEY (id)
) STRICT;
CREATE INDEX processes_seen_idx ON processes (seen_at);
