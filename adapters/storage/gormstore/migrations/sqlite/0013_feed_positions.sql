-- +goose Up

-- Up to which position events of an application were deleted.
CREATE TABLE feed_horizons (
    application_id  TEXT NOT NULL,
    environment     TEXT NOT NULL,
    position        INTEGER NOT NULL,
    CONSTRAINT feed_horizons_pkey PRIMARY KEY (application_id, environment)
) STRICT;
