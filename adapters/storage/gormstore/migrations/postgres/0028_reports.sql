-- +goose Up

-- What happened to deliveries by day, added up as it happens. by_what is the set that
-- the figures of a row are told apart by (1 vehicle, 2 municipality, 4 customer); the
-- columns of the others are empty, that of the customer nil.
CREATE TABLE report_figures (
    environment   text NOT NULL,
    by_what       smallint NOT NULL,
    day           timestamptz(3) NOT NULL, -- its beginning, in UTC
    business_id   uuid NOT NULL,
    vehicle       text NOT NULL,
    municipality  text NOT NULL,
    booked        bigint NOT NULL,
    delivered     bigint NOT NULL,
    cancelled     bigint NOT NULL,
    failed        text NOT NULL,  -- a JSON object of counts by reason
    to_assign     bytea NOT NULL, -- histograms: pairs of varints, of a bucket and its count
    to_deliver    bytea NOT NULL,
    CONSTRAINT report_figures_pkey PRIMARY KEY (environment, by_what, day, business_id, vehicle, municipality)
) WITH (fillfactor = 70);
CREATE INDEX report_figures_customer_idx ON report_figures (environment, by_what, business_id, day) WHERE by_what >= 4;
CREATE INDEX report_figures_day_idx ON report_figures (day);

-- How far events are counted: by their place in the feed in each environment, and, of
-- 'past', backwards by their IDs; position is where the feed began to be counted.
CREATE TABLE report_progress (
    stream    text NOT NULL,
    position  bigint NOT NULL,
    sequence  integer NOT NULL,
    event_id  uuid NOT NULL,
    done      boolean NOT NULL,
    CONSTRAINT report_progress_pkey PRIMARY KEY (stream)
);
