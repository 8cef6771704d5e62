-- +goose Up

-- The schema on Postgres. sqlite/0001_schema.sql has the same tables and columns.
--
-- IDs are UUIDv7, so that the order of IDs is the order of creation. The API shows them with a
-- prefix, which is not stored. Times are UTC in milliseconds. Amounts are integer minor units.
--
-- Every row of a business has its business_id, and keys and foreign keys between tables of a
-- business contain it: `waybill migrate distribute` distributes these tables by it on Citus. The
-- column comes last in a key, so that an ID alone still finds its row. These keys do without it:
--   - deliveries_reference_key, because a reference is looked up before its business is known.
--   - webhook_endpoints_pkey, because a caller chooses that ID and it has to be unique among all
--     businesses. webhook_endpoints_tenant_key is the one that foreign keys refer to.
--   - idempotency_keys, bulk_items, simulation_counts, readiness, feed_horizons, feed_events,
--     pickup_locations, webhook_attempts and the match key of addresses, where an application, a
--     recipient or a webhook delivery decides on the business.
--   - the request log, whose rows may belong to no known business.

-- Searches for a part of a text use an index of trigrams. The extension is a trusted one: the owner
-- of the database may create it.
-- +goose StatementBegin
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
EXCEPTION WHEN OTHERS THEN
    RAISE EXCEPTION 'the extension pg_trgm cannot be created: %', SQLERRM
        USING HINT = 'It is in the package postgresql-contrib. Run CREATE EXTENSION pg_trgm in this database as a superuser or as its owner, then migrate again.';
END $$;
-- +goose StatementEnd

-- The extension may have been there before, in a schema that is not in the search_path.
-- +goose StatementBegin
DO $$
DECLARE
    home text;
BEGIN
    SELECT quote_ident(n.nspname) INTO home FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'pg_trgm' AND n.nspname <> ALL (current_schemas(true));
    IF home IS NOT NULL THEN
        RAISE EXCEPTION 'the extension pg_trgm is in the schema %, which is not in the search_path', home
            USING HINT = format('Add %s to the end of the search_path, or run ALTER EXTENSION pg_trgm SET SCHEMA %I, then migrate again.',
                home, current_schema());
    END IF;
END $$;
-- +goose StatementEnd

---------------------------------------------------------------------------------------------------
-- The installation
---------------------------------------------------------------------------------------------------

-- The random name of the installation, by which processes know that they share a database, and the
-- last reading of the database's clock. A clock that is set back does not set back the
-- installation's time. One row.
CREATE TABLE installation (
    id              smallint NOT NULL CHECK (id = 1),
    name            text NOT NULL,
    clock_seen      timestamptz, -- null: not read yet
    clock_ahead_ms  bigint NOT NULL DEFAULT 0 CHECK (clock_ahead_ms >= 0), -- of the installation's time, ahead of the clock
    CONSTRAINT installation_pkey PRIMARY KEY (id)
);
INSERT INTO installation (id, name) VALUES (1, replace(gen_random_uuid()::text, '-', ''));

-- A fingerprint of each pepper that digests of API keys and operator tokens were made with, the
-- oldest first.
CREATE TABLE key_pepper (
    id    smallint NOT NULL CHECK (id > 0),
    mark  bytea NOT NULL CHECK (octet_length(mark) = 32),
    CONSTRAINT key_pepper_pkey PRIMARY KEY (id),
    CONSTRAINT key_pepper_mark_key UNIQUE (mark)
);

-- A value sealed with the secret key. A process that cannot open it has another key. At most one row.
CREATE TABLE secret_key_check (
    id      smallint NOT NULL CHECK (id = 1),
    sealed  bytea NOT NULL,
    CONSTRAINT secret_key_check_pkey PRIMARY KEY (id)
);

-- Servers and workers that run. Each refreshes its row every few seconds.
CREATE TABLE processes (
    id          uuid NOT NULL, -- random, new at each start
    facts       text NOT NULL, -- a JSON object
    started_at  timestamptz(3) NOT NULL,
    seen_at     timestamptz(3) NOT NULL,
    CONSTRAINT processes_pkey PRIMARY KEY (id)
);
CREATE INDEX processes_seen_idx ON processes (seen_at);

-- Until when old rows of a table may be deleted. Where more than a day's worth has become old since
-- the last cleaning, all processes share one window an hour.
CREATE TABLE retention_windows (
    table_name  text NOT NULL,
    until       timestamptz NOT NULL,
    opened_at   timestamptz NOT NULL, -- by the clock of the database
    CONSTRAINT retention_windows_pkey PRIMARY KEY (table_name)
);

---------------------------------------------------------------------------------------------------
-- Businesses and their API keys
---------------------------------------------------------------------------------------------------

-- The customers of the delivery company. While a business is disabled, its keys do not work and its
-- people cannot sign in.
CREATE TABLE businesses (
    id              uuid PRIMARY KEY,
    name            text NOT NULL,
    rate_limit      integer CHECK (rate_limit > 0), -- null: the default of the installation
    rate_window_ns  bigint CHECK (rate_window_ns > 0),
    disabled        boolean NOT NULL DEFAULT false,
    created_at      timestamptz(3) NOT NULL,
    CONSTRAINT businesses_rate_check CHECK ((rate_limit IS NULL) = (rate_window_ns IS NULL))
);
CREATE INDEX businesses_list_idx ON businesses (created_at, id);

-- The programs of a business. API keys, deliveries and webhook endpoints belong to an application.
CREATE TABLE applications (
    id           uuid PRIMARY KEY,
    business_id  uuid NOT NULL REFERENCES businesses (id),
    name         text NOT NULL,
    disabled     boolean NOT NULL,
    created_at   timestamptz(3) NOT NULL,
    -- The foreign key of a delivery proves with it that its application is of its business.
    CONSTRAINT applications_tenant_key UNIQUE (id, business_id)
);
CREATE INDEX applications_business_idx ON applications (business_id, created_at, id);

-- API keys. Only a digest is stored. last_used_at is not indexed, because it changes every few
-- seconds for each key in use.
CREATE TABLE api_keys (
    id              uuid PRIMARY KEY,
    application_id  uuid NOT NULL REFERENCES applications (id),
    environment     text NOT NULL CHECK (environment IN ('live', 'sandbox')),
    digest          bytea NOT NULL CHECK (octet_length(digest) = 32),
    pepper          bytea CHECK (octet_length(pepper) = 32), -- the mark in key_pepper; null: the oldest one
    last_four       text NOT NULL,
    scopes          text NOT NULL, -- comma-separated
    created_at      timestamptz(3) NOT NULL,
    expires_at      timestamptz(3),
    revoked_at      timestamptz(3),
    last_used_at    timestamptz(3),
    CONSTRAINT api_keys_digest_key UNIQUE (digest)
);
CREATE INDEX api_keys_application_idx ON api_keys (application_id, created_at, id);
-- For the mails about keys that expire soon.
CREATE INDEX api_keys_expiry_idx ON api_keys (expires_at) WHERE expires_at IS NOT NULL AND revoked_at IS NULL;

-- Steps of going live that an application has completed, with the record that proves it. A row stays
-- when that record expires.
CREATE TABLE readiness (
    business_id     uuid NOT NULL,
    application_id  uuid NOT NULL REFERENCES applications (id),
    step            text NOT NULL,
    at              timestamptz(3) NOT NULL,
    source          text NOT NULL, -- the ID of a request, a key, a delivery or a webhook delivery
    CONSTRAINT readiness_pkey PRIMARY KEY (application_id, step)
);

---------------------------------------------------------------------------------------------------
-- Recipients and pickup locations
---------------------------------------------------------------------------------------------------

-- People who receive deliveries, by phone number. The whole tenant is part of the primary key: a
-- foreign key cannot refer to a recipient of another business or environment.
CREATE TABLE recipients (
    id             uuid NOT NULL,
    business_id    uuid NOT NULL REFERENCES businesses (id),
    environment    text NOT NULL CHECK (environment IN ('live', 'sandbox')),
    phone_number   text NOT NULL,
    name           text NOT NULL, -- empty: unknown
    search_text    text NOT NULL, -- name and phone number, case folded by the program
    address_count  integer NOT NULL CHECK (address_count BETWEEN 0 AND 200),
    created_at     timestamptz(3) NOT NULL,
    updated_at     timestamptz(3) NOT NULL,
    CONSTRAINT recipients_phone_number_key UNIQUE (business_id, environment, phone_number),
    CONSTRAINT recipients_pkey PRIMARY KEY (id, business_id, environment)
);
CREATE INDEX recipients_list_idx ON recipients (business_id, environment, created_at, id);
-- The short list of pending entries bounds how long the create takes that moves them into the index.
CREATE INDEX recipients_search_idx ON recipients USING gin (search_text gin_trgm_ops) WITH (gin_pending_list_limit = 512);

-- Addresses of recipients. A delivery cannot refer to an address of another recipient.
CREATE TABLE recipient_addresses (
    id              uuid NOT NULL,
    recipient_id    uuid NOT NULL,
    business_id     uuid NOT NULL,
    environment     text NOT NULL,
    label           text NOT NULL,
    address         text NOT NULL,
    match_key       text NOT NULL, -- equal for addresses that are the same
    match_hash      bytea NOT NULL, -- SHA-256 of match_key, which may be too long for an index
    latitude        double precision NOT NULL,
    longitude       double precision NOT NULL,
    municipality    text NOT NULL,
    delivery_notes  text NOT NULL,
    created_at      timestamptz(3) NOT NULL,
    CONSTRAINT recipient_addresses_match_key UNIQUE (recipient_id, match_hash),
    CONSTRAINT recipient_addresses_pkey PRIMARY KEY (id, recipient_id, business_id),
    CONSTRAINT recipient_addresses_recipient_fkey FOREIGN KEY (recipient_id, business_id, environment)
        REFERENCES recipients (id, business_id, environment)
);

-- Places where riders pick up parcels of a business.
CREATE TABLE pickup_locations (
    id           uuid PRIMARY KEY,
    business_id  uuid NOT NULL REFERENCES businesses (id),
    environment  text NOT NULL CHECK (environment IN ('live', 'sandbox')),
    name         text NOT NULL,
    contact      text NOT NULL, -- empty: missing
    address      text NOT NULL,
    search_text  text NOT NULL, -- name and address, case folded by the program
    latitude     double precision,
    longitude    double precision,
    active       boolean NOT NULL,
    created_at   timestamptz(3) NOT NULL,
    updated_at   timestamptz(3) NOT NULL,
    CONSTRAINT pickup_locations_coordinates_check CHECK ((latitude IS NULL) = (longitude IS NULL))
);
CREATE INDEX pickup_locations_list_idx ON pickup_locations (business_id, environment, created_at, id);
CREATE INDEX pickup_locations_search_idx ON pickup_locations USING gin (search_text gin_trgm_ops) WITH (gin_pending_list_limit = 512);

---------------------------------------------------------------------------------------------------
-- Deliveries
---------------------------------------------------------------------------------------------------

-- A row has all that the API shows of a delivery, as it was booked: a read needs no join, and a
-- renamed recipient changes no delivery. The simulation of a sandbox delivery is in its row too, so
-- that one lock covers both.
CREATE TABLE deliveries (
    id                       uuid NOT NULL,
    application_id           uuid NOT NULL,
    business_id              uuid NOT NULL,
    environment              text NOT NULL CHECK (environment IN ('live', 'sandbox')),
    reference                text NOT NULL,
    external_id              text, -- null: none
    recipient_id             uuid NOT NULL,
    recipient_name           text NOT NULL,
    recipient_phone          text NOT NULL,
    pickup_name              text NOT NULL,
    pickup_contact           text NOT NULL,
    pickup_address           text NOT NULL,
    pickup_latitude          double precision NOT NULL,
    pickup_longitude         double precision NOT NULL,
    dropoff_id               uuid NOT NULL,
    dropoff_address          text NOT NULL,
    dropoff_latitude         double precision NOT NULL,
    dropoff_longitude        double precision NOT NULL,
    dropoff_label            text NOT NULL,
    dropoff_municipality     text NOT NULL,
    dropoff_notes            text NOT NULL,
    payment_type             text NOT NULL,
    goods_value_minor        bigint,
    vehicle_type             text NOT NULL,
    currency                 text NOT NULL, -- of every amount in the row
    delivery_fee_minor       bigint CHECK (delivery_fee_minor >= 0),
    requires_custom_quote    boolean NOT NULL,
    distance_km              double precision NOT NULL,
    distance_source          text NOT NULL,
    instructions             text NOT NULL,
    status                   text NOT NULL,
    last_sequence            integer NOT NULL CHECK (last_sequence > 0), -- of its events
    picked_up_at             timestamptz(3),
    created_at               timestamptz(3) NOT NULL,
    updated_at               timestamptz(3) NOT NULL,
    simulation_scenario      text,     -- null: no simulation was ever started
    simulation_status        text,
    simulation_step          smallint, -- steps done
    simulation_step_seconds  smallint,
    simulation_next_at       timestamptz(3), -- null, with the one below, unless the simulation runs
    simulation_ends_at       timestamptz(3),
    CONSTRAINT deliveries_pkey PRIMARY KEY (id, business_id),
    CONSTRAINT deliveries_reference_key UNIQUE (reference),
    CONSTRAINT deliveries_external_id_key UNIQUE (application_id, environment, external_id, business_id),
    CONSTRAINT deliveries_simulation_check
        CHECK ((simulation_status = 'running') = (simulation_next_at IS NOT NULL) OR simulation_status IS NULL),
    CONSTRAINT deliveries_application_fkey FOREIGN KEY (application_id, business_id)
        REFERENCES applications (id, business_id),
    CONSTRAINT deliveries_recipient_fkey FOREIGN KEY (recipient_id, business_id, environment)
        REFERENCES recipients (id, business_id, environment),
    CONSTRAINT deliveries_address_fkey FOREIGN KEY (dropoff_id, recipient_id, business_id)
        REFERENCES recipient_addresses (id, recipient_id, business_id)
);
CREATE INDEX deliveries_list_idx ON deliveries (application_id, environment, created_at, id);
CREATE INDEX deliveries_status_idx ON deliveries (application_id, environment, status, created_at, id);
CREATE INDEX deliveries_due_idx ON deliveries (simulation_next_at) WHERE simulation_status = 'running';
CREATE INDEX deliveries_running_idx ON deliveries (application_id, environment, simulation_ends_at) WHERE simulation_status = 'running';
-- For the console's board. The first two have all columns that its filters use, so that rows which
-- a filter leaves out are not read.
CREATE INDEX deliveries_open_idx ON deliveries (environment, id, status, updated_at, business_id, application_id)
    WHERE status IN ('booked', 'assigned', 'picked_up', 'in_transit', 'outsourced');
CREATE INDEX deliveries_failed_idx ON deliveries (environment, updated_at, id, status, business_id, application_id)
    WHERE status = 'failed';
CREATE INDEX deliveries_phone_idx ON deliveries (recipient_phone, id);
-- For lists of few rows among the deliveries of all businesses. A live create adds to neither.
CREATE INDEX deliveries_cancelled_idx ON deliveries (environment, id) WHERE status = 'cancelled';
CREATE INDEX deliveries_sandbox_idx ON deliveries (id) WHERE environment = 'sandbox';
-- An application has one business. Without this, Postgres expects few rows where a query names both
-- and sorts all rows of one of them for a page of a list. For the same reason there is no index
-- that begins with the business.
CREATE STATISTICS deliveries_tenant (dependencies) ON business_id, application_id FROM deliveries;

-- The timeline of each delivery. It is never deleted.
CREATE TABLE delivery_events (
    id               uuid NOT NULL,
    delivery_id      uuid NOT NULL,
    business_id      uuid NOT NULL,
    sequence         integer NOT NULL CHECK (sequence > 0),
    type             text NOT NULL,
    status           text NOT NULL,
    previous_status  text NOT NULL, -- empty on the first event
    reason_code      text NOT NULL, -- empty: none
    occurred_at      timestamptz(3) NOT NULL,
    CONSTRAINT delivery_events_pkey PRIMARY KEY (id, business_id),
    CONSTRAINT delivery_events_sequence_key UNIQUE (delivery_id, sequence, business_id),
    CONSTRAINT delivery_events_delivery_fkey FOREIGN KEY (delivery_id, business_id) REFERENCES deliveries (id, business_id)
);

-- How many simulations an application runs. It is a row and not a count, because two that start at
-- the same moment could both be the last one allowed.
CREATE TABLE simulation_counts (
    business_id     uuid NOT NULL,
    application_id  uuid PRIMARY KEY,
    running         integer NOT NULL CHECK (running >= 0)
);

---------------------------------------------------------------------------------------------------
-- Idempotency keys and bulks
---------------------------------------------------------------------------------------------------

-- Idempotency keys with the stored response. The table is not partitioned by time, because the same
-- key could then exist twice across a boundary. It has no foreign key to applications, because every
-- create would lock the same row. The lease is set while a bulk is in progress, and null otherwise.
CREATE TABLE idempotency_keys (
    business_id     uuid NOT NULL,
    application_id  uuid NOT NULL,
    environment     text NOT NULL,
    key             text NOT NULL,
    fingerprint     bytea NOT NULL CHECK (octet_length(fingerprint) = 32), -- of the request
    claim_id        uuid NOT NULL,
    status          smallint NOT NULL, -- HTTP status of the response; 0: none yet
    location        text NOT NULL,     -- empty: none
    body            bytea,
    created_at      timestamptz(3) NOT NULL,
    expires_at      timestamptz(3) NOT NULL,
    lease_token     uuid,
    leased_until    timestamptz(3),
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (application_id, environment, key)
);
CREATE INDEX idempotency_keys_expires_idx ON idempotency_keys (expires_at);

-- Results of items of bulks in progress. They are deleted when the bulk finishes, so the table stays
-- small, and what an abandoned bulk left is found without an index.
CREATE TABLE bulk_items (
    business_id  uuid NOT NULL,
    claim_id     uuid NOT NULL,
    item_index   smallint NOT NULL CHECK (item_index BETWEEN 0 AND 99),
    created      boolean NOT NULL,
    result       bytea NOT NULL,
    expires_at   timestamptz(3) NOT NULL,
    CONSTRAINT bulk_items_pkey PRIMARY KEY (claim_id, item_index)
);

---------------------------------------------------------------------------------------------------
-- The feed of events
---------------------------------------------------------------------------------------------------

-- Events with the JSON that is published, for 30 days. Rows are inserted and later deleted in the
-- order of their IDs, and never updated.
--
-- position comes from feed_positions. Until it ends, a transaction holds an advisory lock on the
-- value of the sequence from before it took a position, and a reader stops short of the lowest such
-- lock. So no reader misses an event that is committed later.
CREATE TABLE feed_events (
    id              uuid PRIMARY KEY,
    business_id     uuid NOT NULL,
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
-- For the operators' feed, which covers all applications of an environment.
CREATE INDEX feed_events_all_idx ON feed_events (environment, position, sequence, id)
    WHERE delivery_id IS NOT NULL;
-- See deliveries_tenant.
CREATE STATISTICS feed_events_tenant (dependencies) ON business_id, application_id FROM feed_events;

-- The last position that was given. The first one is 1, because a reader begins after 0.
CREATE SEQUENCE feed_positions MINVALUE 0 START WITH 0;
SELECT setval('feed_positions', 0);

-- The position up to which events of an application were deleted.
CREATE TABLE feed_horizons (
    business_id     uuid NOT NULL,
    application_id  uuid NOT NULL,
    environment     text NOT NULL,
    position        bigint NOT NULL,
    CONSTRAINT feed_horizons_pkey PRIMARY KEY (application_id, environment)
);

---------------------------------------------------------------------------------------------------
-- Webhooks
---------------------------------------------------------------------------------------------------

-- Webhook endpoints. An application has at most 16 in an environment, each in its own slot. A deleted
-- endpoint has no slot and stays as long as its deliveries do. The row has free space on its page,
-- because its health changes often.
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
    secret           bytea NOT NULL, -- sealed
    previous_secret  bytea, -- sealed
    previous_until   timestamptz(3),
    failures         integer NOT NULL, -- in a row
    failing_since    timestamptz(3),
    open_until       timestamptz(3),
    opened           integer NOT NULL,
    slow_until       timestamptz(3),
    created_at       timestamptz(3) NOT NULL,
    updated_at       timestamptz(3) NOT NULL,
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CONSTRAINT webhook_endpoints_application_id_environment_slot_key UNIQUE (application_id, environment, slot, business_id)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX webhook_endpoints_tenant_key ON webhook_endpoints (id, business_id);

-- The sender's lease of an endpoint, which changes many times a second. A long snapshot, such as
-- pg_dump's, keeps all versions of a row, and a lookup by its key walks through them. So each change
-- takes the next number, and the newest version is the first one from the end of the index.
CREATE TABLE webhook_leases (
    business_id   uuid NOT NULL,
    endpoint_id   uuid NOT NULL,
    number        bigint NOT NULL,
    token         uuid,
    leased_until  timestamptz,
    -- Nothing that is pending was due before it, except for what was committed very late. The same
    -- snapshot keeps index entries of what was sent, and this skips them.
    due_since     timestamptz(3) NOT NULL,
    CONSTRAINT webhook_leases_pkey PRIMARY KEY (endpoint_id, number, business_id),
    CONSTRAINT webhook_leases_endpoint_fkey FOREIGN KEY (endpoint_id, business_id)
        REFERENCES webhook_endpoints (id, business_id) ON DELETE CASCADE
);

-- webhook_lease returns the newest version from the end of the index. The table has few rows, so that
-- Postgres would otherwise sort them all, with every version.
-- +goose StatementBegin
CREATE FUNCTION webhook_lease(of uuid) RETURNS webhook_leases LANGUAGE plpgsql STABLE
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    newest webhook_leases;
BEGIN
    SELECT * INTO newest FROM webhook_leases WHERE endpoint_id = of ORDER BY number DESC LIMIT 1;
    RETURN newest;
END $$;
-- +goose StatementEnd

-- Every endpoint begins with a lease that nobody holds.
-- +goose StatementBegin
CREATE FUNCTION webhook_endpoint_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_leases (endpoint_id, number, due_since, business_id) VALUES (NEW.id, 1, '1970-01-01T00:00:00Z', NEW.business_id);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER webhook_endpoints_lease AFTER INSERT ON webhook_endpoints
    FOR EACH ROW EXECUTE FUNCTION webhook_endpoint_lease();

-- One event for one endpoint. There is no foreign key to the endpoint, because every create would
-- lock the endpoint's row, which its sender changes.
CREATE TABLE webhook_deliveries (
    id           uuid NOT NULL, -- the ID of the event with the slot of the endpoint
    business_id  uuid NOT NULL,
    endpoint_id  uuid NOT NULL,
    event_id     uuid NOT NULL,
    event_type   text NOT NULL,
    delivery_id  uuid, -- null: an event of a webhook endpoint
    sequence     integer NOT NULL,
    status       text NOT NULL,
    attempts     integer NOT NULL,
    used         integer NOT NULL, -- attempts of the schedule; a manual one uses none
    due_at       timestamptz(3),
    trigger      text NOT NULL,
    back         text NOT NULL, -- the status that a failed attempt outside of the schedule returns to
    created_at   timestamptz(3) NOT NULL,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id, business_id),
    CHECK ((status = 'pending') = (due_at IS NOT NULL))
);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (endpoint_id, due_at, id) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_list_idx ON webhook_deliveries (endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_recoverable_idx ON webhook_deliveries (endpoint_id, created_at, id) WHERE status IN ('failed', 'held');
-- See deliveries_tenant.
CREATE STATISTICS webhook_deliveries_tenant (dependencies) ON business_id, endpoint_id FROM webhook_deliveries;

-- Attempts of webhook deliveries and how the receiver responded.
CREATE TABLE webhook_attempts (
    id                   uuid PRIMARY KEY,
    business_id          uuid NOT NULL,
    webhook_delivery_id  uuid NOT NULL,
    number               integer NOT NULL,
    trigger              text NOT NULL,
    status_code          integer NOT NULL,
    error_class          text NOT NULL,
    duration_ms          integer NOT NULL,
    excerpt              text NOT NULL, -- of the response
    started_at           timestamptz(3) NOT NULL,
    next_at              timestamptz(3),
    UNIQUE (webhook_delivery_id, number)
);

-- Environments in which no webhooks are sent until a person resumes them.
CREATE TABLE webhook_pauses (
    environment  text NOT NULL,
    since        timestamptz(3) NOT NULL,
    by_name      text NOT NULL, -- of the person
    reason       text NOT NULL,
    CONSTRAINT webhook_pauses_pkey PRIMARY KEY (environment)
);

---------------------------------------------------------------------------------------------------
-- Request log and usage
---------------------------------------------------------------------------------------------------

-- Requests to the public API that succeeded. Partitions are days of UTC, created ahead and dropped
-- whole. An ID contains the time, so that the bounds of a day are bounds of IDs.
CREATE TABLE request_successes (
    id              uuid NOT NULL,
    client_id       text NOT NULL, -- the caller's own name for the request; empty: none
    environment     text NOT NULL,
    business_id     uuid, -- null, with the two below: the caller is not known
    application_id  uuid,
    key_id          uuid,
    route           text NOT NULL,
    delivery_id     uuid,
    status          integer NOT NULL,
    code            text NOT NULL,
    fields          text NOT NULL, -- that an error is about, comma-separated
    took_us         bigint NOT NULL,
    replayed        boolean NOT NULL,
    key_digest      bytea, -- of the Idempotency-Key
    network         text NOT NULL,
    agent           text NOT NULL,
    weight          integer NOT NULL, -- the number of requests that the row stands for
    CONSTRAINT request_successes_pkey PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX request_successes_business_idx ON request_successes (business_id, id);
CREATE INDEX request_successes_delivery_idx ON request_successes (delivery_id, id) WHERE delivery_id IS NOT NULL;
CREATE INDEX request_successes_client_idx ON request_successes (client_id, id) WHERE client_id <> '';
CREATE INDEX request_successes_route_idx ON request_successes (business_id, route, id);
CREATE INDEX request_successes_key_idx ON request_successes (key_id, id) WHERE key_id IS NOT NULL;

-- Requests that failed. They are kept longer.
CREATE TABLE request_failures (
    LIKE request_successes,
    CONSTRAINT request_failures_pkey PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX request_failures_business_idx ON request_failures (business_id, id);
CREATE INDEX request_failures_delivery_idx ON request_failures (delivery_id, id) WHERE delivery_id IS NOT NULL;
CREATE INDEX request_failures_client_idx ON request_failures (client_id, id) WHERE client_id <> '';
CREATE INDEX request_failures_route_idx ON request_failures (business_id, route, id);
CREATE INDEX request_failures_key_idx ON request_failures (key_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX request_failures_code_idx ON request_failures (business_id, code, id);
CREATE INDEX request_failures_status_idx ON request_failures (business_id, status, id);

CREATE VIEW request_log AS SELECT * FROM request_failures UNION ALL SELECT * FROM request_successes;

-- How often an API key got which response in a minute. Each process has its own rows, with its sum of
-- the whole minute.
CREATE TABLE usage_minutes (
    minute          timestamptz(3) NOT NULL,
    writer          uuid NOT NULL, -- the process, and its environment
    environment     text NOT NULL,
    business_id     uuid NOT NULL,
    application_id  uuid NOT NULL,
    key_id          uuid NOT NULL,
    route           text NOT NULL,
    status          integer NOT NULL,
    code            text NOT NULL,
    calls           bigint NOT NULL,
    replayed        bigint NOT NULL,
    took_us         bigint NOT NULL, -- of all calls together
    CONSTRAINT usage_minutes_pkey PRIMARY KEY (business_id, minute, key_id, route, status, code, writer)
) PARTITION BY RANGE (minute);

-- usage_minutes summed up by the hour, for figures of days and months. Triggers keep it exact: a
-- process writes the sums of a minute again as they grow, and the triggers add the difference in the
-- same transaction. On Citus a statement does that.
CREATE TABLE usage_hours (
    hour            timestamptz(3) NOT NULL,
    writer          uuid NOT NULL,
    environment     text NOT NULL,
    business_id     uuid NOT NULL,
    application_id  uuid NOT NULL,
    key_id          uuid NOT NULL,
    route           text NOT NULL,
    status          integer NOT NULL,
    code            text NOT NULL,
    calls           bigint NOT NULL,
    replayed        bigint NOT NULL,
    took_us         bigint NOT NULL,
    last            timestamptz(3) NOT NULL, -- the last minute with a call
    CONSTRAINT usage_hours_pkey PRIMARY KEY (business_id, hour, key_id, route, status, code, writer)
) PARTITION BY RANGE (hour);

-- +goose StatementBegin
CREATE FUNCTION add_usage_hours() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO usage_hours
    SELECT date_trunc('hour', minute, 'UTC'), writer, environment, business_id, application_id, key_id, route, status, code,
        sum(calls), sum(replayed), sum(took_us), max(minute)
    FROM added
    GROUP BY date_trunc('hour', minute, 'UTC'), writer, environment, business_id, application_id, key_id, route, status, code
    ON CONFLICT (business_id, hour, key_id, route, status, code, writer) DO UPDATE SET
        calls = usage_hours.calls + EXCLUDED.calls, replayed = usage_hours.replayed + EXCLUDED.replayed,
        took_us = usage_hours.took_us + EXCLUDED.took_us, last = greatest(usage_hours.last, EXCLUDED.last);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION grow_usage_hours() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE usage_hours h SET calls = h.calls + d.calls, replayed = h.replayed + d.replayed, took_us = h.took_us + d.took_us
    FROM (
        SELECT date_trunc('hour', n.minute, 'UTC') AS hour, n.writer, n.business_id, n.key_id, n.route, n.status, n.code,
            sum(n.calls - o.calls) AS calls, sum(n.replayed - o.replayed) AS replayed, sum(n.took_us - o.took_us) AS took_us
        FROM added n JOIN removed o USING (business_id, minute, key_id, route, status, code, writer)
        GROUP BY date_trunc('hour', n.minute, 'UTC'), n.writer, n.business_id, n.key_id, n.route, n.status, n.code
    ) d
    WHERE h.business_id = d.business_id AND h.hour = d.hour AND h.key_id = d.key_id AND h.route = d.route AND h.status = d.status
        AND h.code = d.code AND h.writer = d.writer;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER usage_minutes_added AFTER INSERT ON usage_minutes REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_usage_hours();
CREATE TRIGGER usage_minutes_grown AFTER UPDATE ON usage_minutes REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION grow_usage_hours();

---------------------------------------------------------------------------------------------------
-- Reports
---------------------------------------------------------------------------------------------------

-- What happened to deliveries by day. by_what is a sum of what the row is about: 1 vehicle, 2
-- municipality, 4 business, 8 month; a month has the day of its first. Columns that the row is not
-- about are empty, and the business is then the nil UUID.
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
    to_assign     bytea NOT NULL, -- a histogram: pairs of varints, of a bucket and its count
    to_deliver    bytea NOT NULL,
    CONSTRAINT report_figures_pkey PRIMARY KEY (environment, by_what, day, business_id, vehicle, municipality)
) WITH (fillfactor = 70);
CREATE INDEX report_figures_customer_idx ON report_figures (environment, by_what, business_id, day) WHERE by_what >= 4;

-- How far events are counted: by position in the feed for each environment, and for 'past' backwards
-- by ID, where position is where counting of the feed began. 'months' says that months are counted.
CREATE TABLE report_progress (
    stream    text NOT NULL,
    position  bigint NOT NULL,
    sequence  integer NOT NULL,
    event_id  uuid NOT NULL,
    done      boolean NOT NULL,
    CONSTRAINT report_progress_pkey PRIMARY KEY (stream)
);
INSERT INTO report_progress (stream, position, sequence, event_id, done)
VALUES ('months', 0, 0, '00000000-0000-0000-0000-000000000000', true);

---------------------------------------------------------------------------------------------------
-- People
---------------------------------------------------------------------------------------------------

-- People who sign in to the portal and the console. Their roles are in memberships.
CREATE TABLE persons (
    id             uuid NOT NULL,
    name           text NOT NULL,
    email          text NOT NULL, -- case folded
    state          text NOT NULL CONSTRAINT persons_state_check CHECK (state IN ('invited', 'active', 'disabled')),
    password_hash  text, -- null: no password
    created_at     timestamptz(3) NOT NULL,
    -- The person came by a link that nobody else was shown, or by the identity provider. Before
    -- that, whoever was shown the invitation may have opened the account.
    email_proven   boolean NOT NULL DEFAULT false,
    CONSTRAINT persons_pkey PRIMARY KEY (id),
    CONSTRAINT persons_email_key UNIQUE (email)
);

-- The role of a person in a business, or in the staff of the delivery company.
CREATE TABLE memberships (
    person_id      uuid NOT NULL REFERENCES persons (id),
    business_id    uuid REFERENCES businesses (id), -- null: the staff
    role           text NOT NULL,
    created_at     timestamptz(3) NOT NULL,
    accepted_at    timestamptz(3), -- null: invited only
    signed_out_at  timestamptz(3), -- sessions from before do not show the business
    name           text -- that the inviter typed, until the invitation is accepted; null: the person's own
);
CREATE UNIQUE INDEX memberships_business_idx ON memberships (business_id, person_id) WHERE business_id IS NOT NULL;
CREATE UNIQUE INDEX memberships_staff_idx ON memberships (person_id) WHERE business_id IS NULL;
CREATE INDEX memberships_person_idx ON memberships (person_id);

-- Sign-in links and invitations. A link works once. A link that was made invalid counts as used.
CREATE TABLE person_links (
    id            uuid NOT NULL,
    person_id     uuid NOT NULL REFERENCES persons (id),
    business_id   uuid, -- null: to the console
    purpose       text NOT NULL CONSTRAINT person_links_purpose_check CHECK (purpose IN ('sign_in', 'invitation')),
    digest        bytea NOT NULL CHECK (octet_length(digest) = 32),
    created_at    timestamptz(3) NOT NULL,
    expires_at    timestamptz(3) NOT NULL,
    used_at       timestamptz(3),
    one_business  boolean NOT NULL DEFAULT false, -- of an operator: the session shows this business alone
    -- Who was shown the link beside the person: empty for somebody else, 'mailed', 'asked' or
    -- 'command' for nobody, which proves the email address. One that was asked for is the person's
    -- own, and opens another business where this one is closed to them.
    origin        text NOT NULL DEFAULT '',
    CONSTRAINT person_links_pkey PRIMARY KEY (id),
    CONSTRAINT person_links_digest_key UNIQUE (digest)
);
CREATE INDEX person_links_person_idx ON person_links (person_id);
CREATE INDEX person_links_expiry_idx ON person_links (expires_at);

-- Browsers that are signed in.
CREATE TABLE sessions (
    id            uuid NOT NULL,
    person_id     uuid NOT NULL REFERENCES persons (id),
    business_id   uuid, -- null: a session of the console
    digest        bytea NOT NULL CHECK (octet_length(digest) = 32),
    method        text NOT NULL,
    device        text NOT NULL,
    created_at    timestamptz(3) NOT NULL,
    signed_in_at  timestamptz(3) NOT NULL,
    last_seen_at  timestamptz(3) NOT NULL,
    expires_at    timestamptz(3) NOT NULL,
    ended_at      timestamptz(3),
    one_business  boolean NOT NULL DEFAULT false, -- it shows this business alone, and nothing of the person
    CONSTRAINT sessions_pkey PRIMARY KEY (id),
    CONSTRAINT sessions_digest_key UNIQUE (digest)
);
CREATE INDEX sessions_person_idx ON sessions (person_id, created_at, id);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);

-- Browsers in which a person has signed in before.
CREATE TABLE person_devices (
    person_id     uuid NOT NULL REFERENCES persons (id),
    digest        bytea NOT NULL CHECK (octet_length(digest) = 32), -- of a secret in a cookie
    created_at    timestamptz(3) NOT NULL,
    last_seen_at  timestamptz(3) NOT NULL,
    CONSTRAINT person_devices_pkey PRIMARY KEY (person_id, digest)
);
CREATE INDEX person_devices_seen_idx ON person_devices (last_seen_at);

-- Passkeys: the public keys of devices.
CREATE TABLE passkeys (
    id             uuid NOT NULL,
    person_id      uuid NOT NULL REFERENCES persons (id),
    name           text NOT NULL,
    host           text NOT NULL, -- of the page where it was created
    credential_id  bytea NOT NULL CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
    public_key     bytea NOT NULL, -- COSE
    sign_count     bigint NOT NULL,
    syncs          boolean NOT NULL, -- it may be copied to other devices of the person
    created_at     timestamptz(3) NOT NULL,
    last_used_at   timestamptz(3),
    CONSTRAINT passkeys_pkey PRIMARY KEY (id),
    CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id)
);
CREATE INDEX passkeys_person_idx ON passkeys (person_id, created_at, id);

-- Accounts of the company's identity provider that persons sign in with.
CREATE TABLE person_identities (
    issuer      text NOT NULL,
    subject     text NOT NULL, -- the provider's name of the account
    person_id   uuid NOT NULL REFERENCES persons (id),
    created_at  timestamptz(3) NOT NULL,
    CONSTRAINT person_identities_pkey PRIMARY KEY (issuer, subject)
);
CREATE INDEX person_identities_person_idx ON person_identities (person_id);

-- Challenges without a response yet: of passkeys, and of browsers that are at the identity provider.
CREATE TABLE passkey_ceremonies (
    id          uuid NOT NULL,
    purpose     text NOT NULL CONSTRAINT passkey_ceremonies_purpose_check
        CHECK (purpose IN ('add', 'sign_in', 'confirm', 'oidc_sign_in', 'oidc_confirm', 'oidc_connect')),
    session_id  uuid, -- null: a browser without a session
    challenge   bytea NOT NULL CHECK (octet_length(challenge) = 32),
    created_at  timestamptz(3) NOT NULL,
    expires_at  timestamptz(3) NOT NULL,
    CONSTRAINT passkey_ceremonies_pkey PRIMARY KEY (id)
);
CREATE INDEX passkey_ceremonies_expiry_idx ON passkey_ceremonies (expires_at);

-- Times at which a person of the staff saw the portal as a business, read-only and for a reason.
CREATE TABLE customer_views (
    id           uuid NOT NULL,
    person_id    uuid NOT NULL REFERENCES persons (id),
    business_id  uuid NOT NULL REFERENCES businesses (id),
    session_id   uuid NOT NULL, -- of the console
    reason       text NOT NULL,
    link_digest  bytea NOT NULL CHECK (octet_length(link_digest) = 32),
    digest       bytea CHECK (octet_length(digest) = 32), -- of the cookie; null: not opened yet
    created_at   timestamptz(3) NOT NULL,
    expires_at   timestamptz(3) NOT NULL,
    opened_at    timestamptz(3),
    ended_at     timestamptz(3),
    CONSTRAINT customer_views_pkey PRIMARY KEY (id),
    CONSTRAINT customer_views_link_key UNIQUE (link_digest),
    CONSTRAINT customer_views_digest_key UNIQUE (digest)
);
CREATE INDEX customer_views_unended_idx ON customer_views (id) WHERE opened_at IS NOT NULL AND ended_at IS NULL;

---------------------------------------------------------------------------------------------------
-- Operators
---------------------------------------------------------------------------------------------------

-- Tokens of the operations API.
CREATE TABLE operator_tokens (
    id            uuid PRIMARY KEY,
    name          text NOT NULL,
    kind          text NOT NULL DEFAULT 'admin' CONSTRAINT operator_tokens_kind_check CHECK (kind IN ('admin', 'dispatcher', 'read-only')),
    digest        bytea NOT NULL CHECK (octet_length(digest) = 32),
    pepper        bytea CHECK (octet_length(pepper) = 32), -- as of API keys
    last_four     text NOT NULL,
    created_at    timestamptz(3) NOT NULL,
    expires_at    timestamptz(3),
    revoked_at    timestamptz(3),
    last_used_at  timestamptz(3),
    CONSTRAINT operator_tokens_digest_key UNIQUE (digest)
);

-- What operators and people did. A row is written in the transaction of the change and never changed
-- or deleted.
CREATE TABLE audit_log (
    id                  uuid PRIMARY KEY,
    at                  timestamptz(3) NOT NULL,
    operator_id         uuid, -- null: a command, without a token
    operator_name       text NOT NULL,
    action              text NOT NULL,
    target              text NOT NULL, -- with its prefix
    business_id         uuid, -- null: of none
    details             text NOT NULL, -- a JSON object of strings
    request_id          text NOT NULL, -- empty: not by a request
    person_id           uuid, -- who made the change
    person_business_id  uuid -- on behalf of which business
);
CREATE INDEX audit_log_target_idx ON audit_log (target, id);
CREATE INDEX audit_log_operator_idx ON audit_log (operator_id, id);
CREATE INDEX audit_log_business_idx ON audit_log (business_id, id);
CREATE INDEX audit_log_person_idx ON audit_log (person_id, id);

-- Requests of operators to move many deliveries, for 30 days. A process that works on one holds its
-- lease.
CREATE TABLE move_runs (
    id            uuid NOT NULL,
    key           text NOT NULL, -- of the request; operators share the keys
    fingerprint   bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    actor_id      text NOT NULL, -- of an operator token or a person; empty: a command
    actor_name    text NOT NULL,
    request_id    text NOT NULL,
    created_at    timestamptz(3) NOT NULL,
    finished_at   timestamptz(3), -- null: in progress
    lease_token   uuid,
    leased_until  timestamptz(3),
    CONSTRAINT move_runs_pkey PRIMARY KEY (id),
    CONSTRAINT move_runs_key_key UNIQUE (key)
);
CREATE INDEX move_runs_left_idx ON move_runs (id) WHERE finished_at IS NULL;

-- The deliveries of a run with their outcomes.
CREATE TABLE move_run_items (
    run_id       uuid NOT NULL REFERENCES move_runs (id),
    item_index   smallint NOT NULL CHECK (item_index BETWEEN 0 AND 199),
    sent         text NOT NULL, -- a reference or ID, as it was sent
    delivery_id  uuid,          -- null: there is no such delivery
    reference    text NOT NULL,
    to_status    text NOT NULL,
    reason_code  text NOT NULL, -- empty: none
    outcome      text NOT NULL,
    current      text NOT NULL, -- the status at the time of the outcome; empty: unknown
    code         text NOT NULL, -- of a refusal, as the two below
    message      text NOT NULL,
    allowed      text NOT NULL, -- statuses, comma-separated
    CONSTRAINT move_run_items_pkey PRIMARY KEY (run_id, item_index)
);

---------------------------------------------------------------------------------------------------
-- Emails
---------------------------------------------------------------------------------------------------

-- Emails to people, waiting and sent. A row says what an email is about; the text is made when it is
-- sent.
CREATE TABLE mails (
    id           uuid NOT NULL, -- from kind, cause and recipient
    kind         text NOT NULL,
    cause        text NOT NULL, -- the record that it comes from
    business_id  uuid,
    person_id    uuid, -- null: a link was asked for by address
    email        text, -- that address, while the email waits
    about        text NOT NULL, -- an API key or a webhook endpoint
    facts        text NOT NULL, -- a JSON object of strings
    created_at   timestamptz(3) NOT NULL,
    state        text NOT NULL CONSTRAINT mails_state_check CHECK (state IN ('waiting', 'sent', 'given_up', 'dropped')),
    due_at       timestamptz(3) NOT NULL, -- a leased email is due again when its lease ends
    expires_at   timestamptz(3) NOT NULL,
    attempts     integer NOT NULL,
    settled_at   timestamptz(3), -- null: it waits
    last_error   text NOT NULL,
    budget       text NOT NULL DEFAULT '', -- the limit that the email counts against; empty: none
    CONSTRAINT mails_pkey PRIMARY KEY (id)
);
CREATE INDEX mails_due_idx ON mails (due_at) WHERE state = 'waiting';
CREATE INDEX mails_settled_idx ON mails (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX mails_budget_idx ON mails (business_id, created_at) WHERE budget <> '';
