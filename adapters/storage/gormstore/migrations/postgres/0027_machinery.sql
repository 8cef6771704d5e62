-- +goose Up

-- Environments in which no webhooks are sent, until people resume it.
CREATE TABLE webhook_pauses (
    environment  text NOT NULL,
    since        timestamptz(3) NOT NULL,
    by_name      text NOT NULL, -- the person
    reason       text NOT NULL,
    CONSTRAINT webhook_pauses_pkey PRIMARY KEY (environment)
);

-- Servers and workers, as each of them tells of itself every few seconds.
CREATE TABLE processes (
    id          uuid NOT NULL, -- drawn as it started
    facts       text NOT NULL, -- a JSON object
    started_at  timestamptz(3) NOT NULL,
    seen_at     timestamptz(3) NOT NULL,
    CONSTRAINT processes_pkey PRIMARY KEY (id)
);
CREATE INDEX processes_seen_idx ON processes (seen_at);
