-- +goose Up

-- Up to where old records of a table may be deleted, where more than a day's worth
-- has become old since the last cleaning: all processes share one window an hour.
CREATE TABLE retention_windows (
    table_name  text NOT NULL,
    until       timestamptz NOT NULL,
    opened_at   timestamptz NOT NULL, -- by the clock of the database
    CONSTRAINT retention_windows_pkey PRIMARY KEY (table_name)
);

-- When the clock of the database was last seen, by itself, and how far the time of
-- the installation was ahead of it: a clock that is set back stops nothing.
ALTER TABLE installation
    ADD COLUMN clock_seen timestamptz,
    ADD COLUMN clock_ahead_ms bigint NOT NULL DEFAULT 0 CHECK (clock_ahead_ms >= 0);
