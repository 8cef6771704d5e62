-- +goose Up

-- What drives a sandbox delivery is in its row: reading one needs no join, and
-- one lock holds both.
ALTER TABLE deliveries ADD COLUMN simulation_scenario TEXT; -- null: no simulation was ever started
ALTER TABLE deliveries ADD COLUMN simulation_status TEXT;
ALTER TABLE deliveries ADD COLUMN simulation_step INTEGER; -- steps done
ALTER TABLE deliveries ADD COLUMN simulation_step_seconds INTEGER;
ALTER TABLE deliveries ADD COLUMN simulation_next_at TEXT; -- these two are null unless it runs
ALTER TABLE deliveries ADD COLUMN simulation_ends_at TEXT;

CREATE INDEX deliveries_due_idx ON deliveries (simulation_next_at) WHERE simulation_status = 'running';
CREATE INDEX deliveries_running_idx ON deliveries (application_id, environment, simulation_ends_at) WHERE simulation_status = 'running';

-- How many simulations an application runs, as a row: counting them would let
-- two that start at the same moment both be the last that may.
CREATE TABLE simulation_counts (
    application_id  TEXT PRIMARY KEY,
    running         INTEGER NOT NULL CHECK (running >= 0)
) STRICT;
