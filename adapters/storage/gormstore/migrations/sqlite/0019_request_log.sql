-- +goose Up

-- What the public API was asked. An ID tells the time.
CREATE TABLE request_successes (
    id              TEXT NOT NULL,
    client_id       TEXT NOT NULL, -- empty: the caller gave it no name
    environment     TEXT NOT NULL,
    business_id     TEXT, -- null, with those below: nobody known
    application_id  TEXT,
    key_id          TEXT,
    route           TEXT NOT NULL,
    delivery_id     TEXT,
    status          INTEGER NOT NULL,
    code            TEXT NOT NULL,
    fields          TEXT NOT NULL, -- that an error is about, comma-separated
    took_us         INTEGER NOT NULL,
    replayed        INTEGER NOT NULL,
    key_digest      BLOB, -- of the Idempotency-Key
    network         TEXT NOT NULL,
    agent           TEXT NOT NULL,
    weight          INTEGER NOT NULL, -- requests that it stands for
    CONSTRAINT request_successes_pkey PRIMARY KEY (id)
) STRICT;
CREATE INDEX request_successes_business_idx ON request_successes (business_id, id);
CREATE INDEX request_successes_delivery_idx ON request_successes (delivery_id, id) WHERE delivery_id IS NOT NULL;
CREATE INDEX request_successes_client_idx ON request_successes (client_id, id) WHERE client_id <> '';

CREATE TABLE request_failures (
    id              TEXT NOT NULL,
    client_id       TEXT NOT NULL,
    environment     TEXT NOT NULL,
    business_id     TEXT,
    application_id  TEXT,
    key_id          TEXT,
    route           TEXT NOT NULL,
    delivery_id     TEXT,
    status          INTEGER NOT NULL,
    code            TEXT NOT NULL,
    fields          TEXT NOT NULL,
    took_us         INTEGER NOT NULL,
    replayed        INTEGER NOT NULL,
    key_digest      BLOB,
    network         TEXT NOT NULL,
    agent           TEXT NOT NULL,
    weight          INTEGER NOT NULL,
    CONSTRAINT request_failures_pkey PRIMARY KEY (id)
) STRICT;
CREATE INDEX request_failures_business_idx ON request_failures (business_id, id);
CREATE INDEX request_failures_delivery_idx ON request_failures (delivery_id, id) WHERE delivery_id IS NOT NULL;
CREATE INDEX request_failures_client_idx ON request_failures (client_id, id) WHERE client_id <> '';

CREATE VIEW request_log AS SELECT * FROM request_failures UNION ALL SELECT * FROM request_successes;

-- How often a key got which answer in a minute. Each process has rows of its own,
-- with its sum of the whole minute.
CREATE TABLE usage_minutes (
    minute          TEXT NOT NULL,
    writer          TEXT NOT NULL, -- the process, and its environment
    environment     TEXT NOT NULL,
    business_id     TEXT NOT NULL,
    application_id  TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    route           TEXT NOT NULL,
    status          INTEGER NOT NULL,
    code            TEXT NOT NULL,
    calls           INTEGER NOT NULL,
    replayed        INTEGER NOT NULL,
    took_us         INTEGER NOT NULL, -- of all together
    CONSTRAINT usage_minutes_pkey PRIMARY KEY (business_id, minute, key_id, route, status, code, writer)
) STRICT;
CREATE INDEX usage_minutes_minute_idx ON usage_minutes (minute);
