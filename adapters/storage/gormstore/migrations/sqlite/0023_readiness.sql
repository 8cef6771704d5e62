-- +goose Up

-- What a program has shown that it can do, and by what: kept for longer than that.
CREATE TABLE readiness (
    application_id  TEXT NOT NULL REFERENCES applications (id),
    step            TEXT NOT NULL,
    at              TEXT NOT NULL,
    source          TEXT NOT NULL, -- the ID of a request, a key, a delivery or a webhook delivery
    CONSTRAINT readiness_pkey PRIMARY KEY (application_id, step)
) STRICT;
