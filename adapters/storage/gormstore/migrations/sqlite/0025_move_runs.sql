-- +goose Up

-- Requests of operators to move many deliveries, for 30 days. A run is under way
-- until it is finished; a process that works on it holds its lease.
CREATE TABLE move_runs (
    id            TEXT NOT NULL,
    key           TEXT NOT NULL, -- of the request; operators share the keys
    fingerprint   BLOB NOT NULL CHECK (length(fingerprint) = 32),
    actor_id      TEXT NOT NULL, -- of an operator token or a person; empty: a command
    actor_name    TEXT NOT NULL,
    request_id    TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    finished_at   TEXT,
    lease_token   TEXT,
    leased_until  TEXT,
    CONSTRAINT move_runs_pkey PRIMARY KEY (id),
    CONSTRAINT move_runs_key_key UNIQUE (key)
) STRICT;
CREATE INDEX move_runs_left_idx ON move_runs (id) WHERE finished_at IS NULL;

CREATE TABLE move_run_items (
    run_id       TEXT NOT NULL REFERENCES move_runs (id),
    item_index   INTEGER NOT NULL CHECK (item_index BETWEEN 0 AND 199),
    sent         TEXT NOT NULL, -- a reference or ID, as it was sent
    delivery_id  TEXT,          -- null: there is no such delivery
    reference    TEXT NOT NULL,
    to_status    TEXT NOT NULL,
    reason_code  TEXT NOT NULL, -- empty: none
    outcome      TEXT NOT NULL,
    current      TEXT NOT NULL, -- the status at the moment of the outcome; empty: none is known
    code         TEXT NOT NULL, -- of a refusal, as the two below
    message      TEXT NOT NULL,
    allowed      TEXT NOT NULL, -- statuses with commas between them
    CONSTRAINT move_run_items_pkey PRIMARY KEY (run_id, item_index)
) STRICT;

-- The feed of operators goes over all applications of an environment.
CREATE INDEX feed_events_all_idx ON feed_events (environment, position)
    WHERE delivery_id IS NOT NULL;
