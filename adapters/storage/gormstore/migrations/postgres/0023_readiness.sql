-- +goose Up

-- What a program has shown that it can do, and by what: kept for longer than that.
CREATE TABLE readiness (
    application_id  uuid NOT NULL REFERENCES applications (id),
    step            text NOT NULL,
    at              timestamptz(3) NOT NULL,
    source          text NOT NULL, -- the ID of a request, a key, a delivery or a webhook delivery
    CONSTRAINT readiness_pkey PRIMARY KEY (application_id, step)
);
