-- +goose Up

-- The events of an application in the order of commits, with the JSON that is
-- published, for 30 days; the timeline of a delivery stays. Rows are only ever
-- inserted and, in the order of their IDs, which is that of time, deleted.
--
-- position is the number of the transaction plus feed_ahead, or that of the event
-- before it in the same delivery where that is higher: one that began earlier may
-- have waited for the other. Every row whose position is below the oldest
-- transaction under way is there for good, so a reader that stops short of that
-- misses none.
CREATE TABLE feed_events (
    id              uuid PRIMARY KEY,
    application_id  uuid NOT NULL,
    environment     text NOT NULL,
    delivery_id     uuid,             -- null: an event of a webhook endpoint
    sequence        integer NOT NULL, -- within the delivery
    type            text NOT NULL,
    occurred_at     timestamptz(3) NOT NULL,
    position        bigint NOT NULL,
    payload         bytea NOT NULL
);
CREATE INDEX feed_events_feed_idx ON feed_events (application_id, environment, position, sequence, id)
    WHERE delivery_id IS NOT NULL;

-- How far positions are ahead of the numbers of transactions: not at all, until
-- the database was restored where those are lower.
CREATE SEQUENCE feed_ahead MINVALUE 0 START WITH 0;

-- An application has at most 16 endpoints in an environment, each in a slot of
-- its own. One that was deleted has none and stays while its log does.
CREATE TABLE webhook_endpoints (
    id               uuid PRIMARY KEY,
    application_id   uuid NOT NULL REFERENCES applications (id),
    business_id      uuid NOT NULL REFERENCES businesses (id),
    environment      text NOT NULL,
    slot             smallint CHECK (slot BETWEEN 0 AND 15),
    url              text NOT NULL, -- empty: a listener
    event_types      text NOT NULL, -- a JSON array, as it was given
    event_mask       bigint NOT NULL,
    description      text NOT NULL,
    enabled          boolean NOT NULL,
    disabled_reason  text NOT NULL,
    listener         boolean NOT NULL,
    secret           bytea NOT NULL, -- both sealed
    previous_secret  bytea,
    previous_until   timestamptz(3),
    failures         integer NOT NULL, -- in a row
    failing_since    timestamptz(3),
    open_until       timestamptz(3),
    opened           integer NOT NULL,
    slow_until       timestamptz(3),
    lease_token      uuid,
    leased_until     timestamptz,
    created_at       timestamptz(3) NOT NULL,
    updated_at       timestamptz(3) NOT NULL,
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    UNIQUE (application_id, environment, slot)
) WITH (fillfactor = 50);

-- One event for one endpoint. Nothing points from here to the endpoint by a
-- foreign key: every create would lock the endpoint's row, which its sender changes.
CREATE TABLE webhook_deliveries (
    id           uuid PRIMARY KEY,
    endpoint_id  uuid NOT NULL,
    event_id     uuid NOT NULL,
    event_type   text NOT NULL,
    delivery_id  uuid, -- null: an event of a webhook endpoint
    sequence     integer NOT NULL,
    status       text NOT NULL,
    attempts     integer NOT NULL,
    used         integer NOT NULL,
    due_at       timestamptz(3),
    trigger      text NOT NULL,
    back         text NOT NULL,
    created_at   timestamptz(3) NOT NULL,
    CHECK ((status = 'pending') = (due_at IS NOT NULL))
);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (endpoint_id, due_at, id) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_list_idx ON webhook_deliveries (endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_recoverable_idx ON webhook_deliveries (endpoint_id, created_at, id) WHERE status IN ('failed', 'held');

CREATE TABLE webhook_attempts (
    id                   uuid PRIMARY KEY,
    webhook_delivery_id  uuid NOT NULL,
    number               integer NOT NULL,
    trigger              text NOT NULL,
    status_code          integer NOT NULL,
    error_class          text NOT NULL,
    duration_ms          integer NOT NULL,
    excerpt              text NOT NULL,
    started_at           timestamptz(3) NOT NULL,
    next_at              timestamptz(3),
    UNIQUE (webhook_delivery_id, number)
);
