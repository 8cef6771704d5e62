-- +goose Up

-- What happened to deliveries by day, added up as it happens. by_what is the set that
-- the figures of a row are told apart by (1 vehicle, 2 municipality, 4 customer); the
-- columns of the others are empty, that of the customer nil.
CREATE TABLE report_figures (
    environment   TEXT NOT NULL,
    by_what       INTEGER NOT NULL,
    day           TEXT NOT NULL, -- its beginning, in UTC
    business_id   TEXT NOT NULL,
    vehicle       TEXT NOT NULL,
    municipality  TEXT NOT NULL,
    booked        INTEGER NOT NULL,
    delivered     INTEGER NOT NULL,
    cancelled     INTEGER NOT NULL,
    failed        TEXT NOT NULL, -- a JSON object of counts by reason
    to_assign     BLOB NOT NULL, -- histograms: pairs of varints, of a bucket and its count
    to_deliver    BLOB NOT NULL,
    CONSTRAINT report_figures_pkey PRIMARY KEY (environment, by_what, day, business_id, vehicle, municipality)
) STRICT;
CREATE INDEX report_figures_customer_idx ON report_figures (environment, by_what, business_id, day) WHERE by_what >= 4;
CREATE INDEX report_figures_day_idx ON report_figures (day);

-- How far events are counted: by their place in the feed in each environment, and, of
-- 'past', backwards by their IDs; position is where the feed began to be counted.
CREATE TABLE report_progress (
    stream    TEXT NOT NULL,
    position  INTEGER NOT NULL,
    sequence  INTEGER NOT NULL,
    event_id  TEXT NOT NULL,
    done      INTEGER NOT NULL,
    CONSTRAINT report_progress_pkey PRIMARY KEY (stream)
) STRICT;
