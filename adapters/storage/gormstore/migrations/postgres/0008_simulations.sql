-- +goose Up

-- What drives a sandbox delivery is in its row: reading one needs no join, and
-- one lock holds both.
ALTER TABLE deliveries
    ADD COLUMN simulation_scenario      text,     -- null: no simulation was ever started
    ADD COLUMN simulation_status        text,
    ADD COLUMN simulation_step          smallint, -- steps done
    ADD COLUMN simulation_step_seconds  smallint,
    ADD COLUMN simulation_next_at       timestamptz(3), -- these two are null unless it runs
    ADD COLUMN simulation_ends_at       timestamptz(3),
    ADD CONSTRAINT deliveries_simulation_check
        CHECK ((simulation_status = 'running') = (simulation_next_at IS NOT NULL) OR simulation_status IS NULL) NOT VALID;

CREATE INDEX deliveries_due_idx ON deliveries (simulation_next_at) WHERE simulation_status = 'running';
CREATE INDEX deliveries_running_idx ON deliveries (application_id, environment, simulation_ends_at) WHERE simulation_status = 'running';

-- How many simulations an application runs, as a row: counting them would let
-- two that start at the same moment both be the last that may.
CREATE TABLE simulation_counts (
    application_id  uuid PRIMARY KEY,
    running         integer NOT NULL CHECK (running >= 0)
);
