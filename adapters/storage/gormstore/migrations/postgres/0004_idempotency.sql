-- +goose Up

-- Not partitioned by time: across a boundary the same key could exist twice.
-- No foreign key to applications: every create would lock the same row.
CREATE TABLE idempotency_keys (
    application_id  uuid NOT NULL,
    environment     text NOT NULL,
    key             text NOT NULL,
    fingerprint     bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    claim_id        uuid NOT NULL,
    status          smallint NOT NULL, -- HTTP status of the answer; 0: not answered yet
    location        text NOT NULL,     -- empty: none
    body            bytea,
    created_at      timestamptz(3) NOT NULL,
    expires_at      timestamptz(3) NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (application_id, environment, key)
);
CREATE INDEX idempotency_keys_expires_idx ON idempotency_keys (expires_at);
