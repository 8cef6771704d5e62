-- +goose Up

-- The events of an application in the order of commits, with the JSON that is
-- published, for 30 days; the timeline of a delivery stays. Rows are only ever
-- inserted and, in the order of their IDs, which is that of time, deleted. There
-- is one writer, so that the order of inserts is that of commits.
CREATE TABLE feed_events (
    position        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    application_id  TEXT NOT NULL,
    environment     TEXT NOT NULL,
    delivery_id     TEXT,             -- null: an event of a webhook endpoint
    sequence        INTEGER NOT NULL, -- within the delivery
    type            TEXT NOT NULL,
    occurred_at     TEXT NOT NULL,
    payload         BLOB NOT NULL
) STRICT;
CREATE INDEX feed_events_feed_idx ON feed_events (application_id, environment, position)
    WHERE delivery_id IS NOT NULL;

-- An application has at most 16 endpoints in an environment, each in a slot of
-- its own. One that was deleted has none and stays while its log does.
CREATE TABLE webhook_endpoints (
    id               TEXT PRIMARY KEY,
    application_id   TEXT NOT NULL REFERENCES applications (id),
    business_id      TEXT NOT NULL REFERENCES businesses (id),
    environment      TEXT NOT NULL,
    slot             INTEGER CHECK (slot BETWEEN 0 AND 15),
    url              TEXT NOT NULL, -- empty: a listener
    event_types      TEXT NOT NULL, -- a JSON array, as it was given
    event_mask       INTEGER NOT NULL,
    description      TEXT NOT NULL,
    enabled          INTEGER NOT NULL,
    disabled_reason  TEXT NOT NULL,
    listener         INTEGER NOT NULL,
    secret           BLOB NOT NULL, -- both sealed
    previous_secret  BLOB,
    previous_until   TEXT,
    failures         INTEGER NOT NULL, -- in a row
    failing_since    TEXT,
    open_until       TEXT,
    opened           INTEGER NOT NULL,
    slow_until       TEXT,
    lease_token      TEXT,
    leased_until     TEXT,
    created_at       TEXT NOT NULL,
    updated_at       TEXT NOT NULL,
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    UNIQUE (application_id, environment, slot)
) STRICT;

-- One event for one endpoint.
CREATE TABLE webhook_deliveries (
    id           TEXT PRIMARY KEY,
    endpoint_id  TEXT NOT NULL,
    event_id     TEXT NOT NULL,
    event_type   TEXT NOT NULL,
    delivery_id  TEXT, -- null: an event of a webhook endpoint
    sequence     INTEGER NOT NULL,
    status       TEXT NOT NULL,
    attempts     INTEGER NOT NULL,
    used         INTEGER NOT NULL,
    due_at       TEXT,
    trigger      TEXT NOT NULL,
    back         TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    CHECK ((status = 'pending') = (due_at IS NOT NULL))
) STRICT;
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (endpoint_id, due_at, id) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_list_idx ON webhook_deliveries (endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_recoverable_idx ON webhook_deliveries (endpoint_id, created_at, id) WHERE status IN ('failed', 'held');

CREATE TABLE webhook_attempts (
    id                   TEXT PRIMARY KEY,
    webhook_delivery_id  TEXT NOT NULL,
    number               INTEGER NOT NULL,
    trigger              TEXT NOT NULL,
    status_code          INTEGER NOT NULL,
    error_class          TEXT NOT NULL,
    duration_ms          INTEGER NOT NULL,
    excerpt              TEXT NOT NULL,
    started_at           TEXT NOT NULL,
    next_at              TEXT,
    UNIQUE (webhook_delivery_id, number)
) STRICT;
