-- +goose Up

-- Every row of a business names it, so that the tables can be distributed by business.
-- No other process writes meanwhile, so that each table is written anew. Rows whose owner was
-- deleted get an ID that no business has.

CREATE TABLE delivery_events_new (
    id               TEXT NOT NULL PRIMARY KEY,
    delivery_id      TEXT NOT NULL REFERENCES deliveries (id),
    sequence         INTEGER NOT NULL CHECK (sequence > 0),
    type             TEXT NOT NULL,
    status           TEXT NOT NULL,
    previous_status  TEXT NOT NULL, -- empty on the first event
    reason_code      TEXT NOT NULL, -- empty: none
    occurred_at      TEXT NOT NULL,
    business_id      TEXT NOT NULL,
    CONSTRAINT delivery_events_sequence_key UNIQUE (delivery_id, sequence)
) STRICT;
INSERT INTO delivery_events_new SELECT e.*, d.business_id FROM delivery_events e JOIN deliveries d ON d.id = e.delivery_id;
DROP TABLE delivery_events;
ALTER TABLE delivery_events_new RENAME TO delivery_events;

-- First the items, whose business comes from the keys.
CREATE TABLE bulk_items_new (
    claim_id     TEXT NOT NULL,
    item_index   INTEGER NOT NULL CHECK (item_index BETWEEN 0 AND 99),
    created      INTEGER NOT NULL CHECK (created IN (0, 1)),
    result       BLOB NOT NULL,
    expires_at   TEXT NOT NULL,
    business_id  TEXT NOT NULL,
    CONSTRAINT bulk_items_pkey PRIMARY KEY (claim_id, item_index)
) STRICT;
INSERT INTO bulk_items_new SELECT i.*, COALESCE((SELECT a.business_id FROM idempotency_keys k JOIN applications a ON a.id = k.application_id
    WHERE k.claim_id = i.claim_id AND k.expires_at = i.expires_at), '00000000000000000000000000000000') FROM bulk_items i;
DROP TABLE bulk_items;
ALTER TABLE bulk_items_new RENAME TO bulk_items;

CREATE TABLE idempotency_keys_new (
    application_id  TEXT NOT NULL,
    environment     TEXT NOT NULL,
    key             TEXT NOT NULL,
    fingerprint     BLOB NOT NULL CHECK (length(fingerprint) = 32),
    claim_id        TEXT NOT NULL,
    status          INTEGER NOT NULL, -- HTTP status of the answer; 0: not answered yet
    location        TEXT NOT NULL,     -- empty: none
    body            BLOB,
    created_at      TEXT NOT NULL,
    expires_at      TEXT NOT NULL,
    lease_token     TEXT,
    leased_until    TEXT,
    business_id     TEXT NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (application_id, environment, key)
) STRICT;
INSERT INTO idempotency_keys_new SELECT k.*, COALESCE((SELECT a.business_id FROM applications a WHERE a.id = k.application_id),
    '00000000000000000000000000000000') FROM idempotency_keys k;
DROP TABLE idempotency_keys;
ALTER TABLE idempotency_keys_new RENAME TO idempotency_keys;
CREATE INDEX idempotency_keys_expires_idx ON idempotency_keys (expires_at);

CREATE TABLE simulation_counts_new (
    application_id  TEXT PRIMARY KEY,
    running         INTEGER NOT NULL CHECK (running >= 0),
    business_id     TEXT NOT NULL
) STRICT;
INSERT INTO simulation_counts_new SELECT c.*, COALESCE((SELECT a.business_id FROM applications a WHERE a.id = c.application_id),
    '00000000000000000000000000000000') FROM simulation_counts c;
DROP TABLE simulation_counts;
ALTER TABLE simulation_counts_new RENAME TO simulation_counts;

CREATE TABLE feed_events_new (
    position        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    application_id  TEXT NOT NULL,
    environment     TEXT NOT NULL,
    delivery_id     TEXT,             -- null: an event of a webhook endpoint
    sequence        INTEGER NOT NULL, -- within the delivery
    type            TEXT NOT NULL,
    occurred_at     TEXT NOT NULL,
    payload         BLOB NOT NULL,
    business_id     TEXT NOT NULL
) STRICT;
INSERT INTO feed_events_new SELECT f.*, COALESCE((SELECT a.business_id FROM applications a WHERE a.id = f.application_id),
    '00000000000000000000000000000000') FROM feed_events f;
-- Positions go on behind those of events that were deleted.
DELETE FROM sqlite_sequence WHERE name = 'feed_events_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'feed_events_new', seq FROM sqlite_sequence WHERE name = 'feed_events';
DROP TABLE feed_events;
ALTER TABLE feed_events_new RENAME TO feed_events;
CREATE INDEX feed_events_feed_idx ON feed_events (application_id, environment, position)
    WHERE delivery_id IS NOT NULL;
CREATE INDEX feed_events_all_idx ON feed_events (environment, position)
    WHERE delivery_id IS NOT NULL;

CREATE TABLE feed_horizons_new (
    application_id  TEXT NOT NULL,
    environment     TEXT NOT NULL,
    position        INTEGER NOT NULL,
    business_id     TEXT NOT NULL,
    CONSTRAINT feed_horizons_pkey PRIMARY KEY (application_id, environment)
) STRICT;
INSERT INTO feed_horizons_new SELECT h.*, COALESCE((SELECT a.business_id FROM applications a WHERE a.id = h.application_id),
    '00000000000000000000000000000000') FROM feed_horizons h;
DROP TABLE feed_horizons;
ALTER TABLE feed_horizons_new RENAME TO feed_horizons;

-- First the attempts, whose business comes from the webhook deliveries.
CREATE TABLE webhook_attempts_new (
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
    business_id          TEXT NOT NULL,
    UNIQUE (webhook_delivery_id, number)
) STRICT;
INSERT INTO webhook_attempts_new SELECT t.*, COALESCE((SELECT e.business_id FROM webhook_deliveries w JOIN webhook_endpoints e
    ON e.id = w.endpoint_id WHERE w.id = t.webhook_delivery_id), '00000000000000000000000000000000') FROM webhook_attempts t;
DROP TABLE webhook_attempts;
ALTER TABLE webhook_attempts_new RENAME TO webhook_attempts;

CREATE TABLE webhook_deliveries_new (
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
    business_id  TEXT NOT NULL,
    CHECK ((status = 'pending') = (due_at IS NOT NULL))
) STRICT;
INSERT INTO webhook_deliveries_new SELECT w.*, COALESCE((SELECT e.business_id FROM webhook_endpoints e WHERE e.id = w.endpoint_id),
    '00000000000000000000000000000000') FROM webhook_deliveries w;
DROP TABLE webhook_deliveries;
ALTER TABLE webhook_deliveries_new RENAME TO webhook_deliveries;
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (endpoint_id, due_at, id) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_list_idx ON webhook_deliveries (endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_recoverable_idx ON webhook_deliveries (endpoint_id, created_at, id) WHERE status IN ('failed', 'held');

CREATE TABLE webhook_leases_new (
    endpoint_id   TEXT NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    number        INTEGER NOT NULL,
    token         TEXT,
    leased_until  TEXT,
    due_since     TEXT NOT NULL, -- nothing is pending that was due before
    business_id   TEXT NOT NULL,
    PRIMARY KEY (endpoint_id, number)
) STRICT;
INSERT INTO webhook_leases_new SELECT l.*, e.business_id FROM webhook_leases l JOIN webhook_endpoints e ON e.id = l.endpoint_id;
DROP TRIGGER webhook_endpoints_lease;
DROP TABLE webhook_leases;
ALTER TABLE webhook_leases_new RENAME TO webhook_leases;
-- +goose StatementBegin
CREATE TRIGGER webhook_endpoints_lease AFTER INSERT ON webhook_endpoints BEGIN
    INSERT INTO webhook_leases (endpoint_id, number, due_since, business_id)
        VALUES (new.id, 1, '1970-01-01T00:00:00.000Z', new.business_id);
END;
-- +goose StatementEnd

CREATE TABLE readiness_new (
    application_id  TEXT NOT NULL REFERENCES applications (id),
    step            TEXT NOT NULL,
    at              TEXT NOT NULL,
    source          TEXT NOT NULL, -- the ID of a request, a key, a delivery or a webhook delivery
    business_id     TEXT NOT NULL,
    CONSTRAINT readiness_pkey PRIMARY KEY (application_id, step)
) STRICT;
INSERT INTO readiness_new SELECT r.*, a.business_id FROM readiness r JOIN applications a ON a.id = r.application_id;
DROP TABLE readiness;
ALTER TABLE readiness_new RENAME TO readiness;
