-- +goose NO TRANSACTION
-- +goose Up

-- Requests of operators to move many deliveries, for 30 days. A run is under way
-- until it is finished; a process that works on it holds its lease.
CREATE TABLE IF NOT EXISTS move_runs (
    id            uuid NOT NULL,
    key           text NOT NULL, -- of the request; operators share the keys
    fingerprint   bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    actor_id      text NOT NULL, -- of an operator token or a person; empty: a command
    actor_name    text NOT NULL,
    request_id    text NOT NULL,
    created_at    timestamptz(3) NOT NULL,
    finished_at   timestamptz(3),
    lease_token   uuid,
    leased_until  timestamptz(3),
    CONSTRAINT move_runs_pkey PRIMARY KEY (id),
    CONSTRAINT move_runs_key_key UNIQUE (key)
);
CREATE INDEX IF NOT EXISTS move_runs_left_idx ON move_runs (id) WHERE finished_at IS NULL;

CREATE TABLE IF NOT EXISTS move_run_items (
    run_id       uuid NOT NULL REFERENCES move_runs (id),
    item_index   smallint NOT NULL CHECK (item_index BETWEEN 0 AND 199),
    sent         text NOT NULL, -- a reference or ID, as it was sent
    delivery_id  uuid,          -- null: there is no such delivery
    reference    text NOT NULL,
    to_status    text NOT NULL,
    reason_code  text NOT NULL, -- empty: none
    outcome      text NOT NULL,
    current      text NOT NULL, -- the status at the moment of the outcome; empty: none is known
    code         text NOT NULL, -- of a refusal, as the two below
    message      text NOT NULL,
    allowed      text NOT NULL, -- statuses with commas between them
    CONSTRAINT move_run_items_pkey PRIMARY KEY (run_id, item_index)
);

-- The feed of operators goes over all applications of an environment. A build that
-- was cut off leaves an index behind that cannot be used.
DROP INDEX CONCURRENTLY IF EXISTS feed_events_all_idx;
CREATE INDEX CONCURRENTLY feed_events_all_idx ON feed_events (environment, position, sequence, id)
    WHERE delivery_id IS NOT NULL;
