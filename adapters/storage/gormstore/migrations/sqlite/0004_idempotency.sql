-- +goose Up

-- Not partitioned by time: across a boundary the same key could exist twice.
-- No foreign key to applications: every create would lock the same row.
CREATE TABLE idempotency_keys (
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
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (application_id, environment, key)
) STRICT;
CREATE INDEX idempotency_keys_expires_idx ON idempotency_keys (expires_at);
