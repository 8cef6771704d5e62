-- +goose Up

-- The schema on SQLite. postgres/0001_schema.sql has the same tables and columns, and the comments
-- that go for both.
--
-- IDs are hexadecimal, times are as in RFC 3339 with milliseconds, in UTC. Keys contain business_id
-- only where that guards something, because this database is never distributed.

---------------------------------------------------------------------------------------------------
-- The installation
---------------------------------------------------------------------------------------------------

-- The random name of the installation, by which processes know that they share a database, and the
-- last reading of the database's clock. A clock that is set back does not set back the
-- installation's time. One row.
CREATE TABLE installation (
    id              INTEGER NOT NULL CHECK (id = 1),
    name            TEXT NOT NULL,
    clock_seen      TEXT, -- null: not read yet
    clock_ahead_ms  INTEGER NOT NULL DEFAULT 0 CHECK (clock_ahead_ms >= 0), -- of the installation's time, ahead of the clock
    CONSTRAINT installation_pkey PRIMARY KEY (id)
) STRICT;
INSERT INTO installation (id, name) VALUES (1, lower(hex(randomblob(16))));

-- A fingerprint of each pepper that digests of API keys and operator tokens were made with, the
-- oldest first.
CREATE TABLE key_pepper (
    id    INTEGER NOT NULL CHECK (id > 0),
    mark  BLOB NOT NULL CHECK (length(mark) = 32),
    CONSTRAINT key_pepper_pkey PRIMARY KEY (id),
    CONSTRAINT key_pepper_mark_key UNIQUE (mark)
) STRICT;

-- A value sealed with the secret key. A process that cannot open it has another key. At most one row.
CREATE TABLE secret_key_check (
    id      INTEGER NOT NULL CHECK (id = 1),
    sealed  BLOB NOT NULL,
    CONSTRAINT secret_key_check_pkey PRIMARY KEY (id)
) STRICT;

-- Servers and workers that run. Each refreshes its row every few seconds.
CREATE TABLE processes (
    id          TEXT NOT NULL, -- random, new at each start
    facts       TEXT NOT NULL, -- a JSON object
    started_at  TEXT NOT NULL,
    seen_at     TEXT NOT NULL,
    CONSTRAINT processes_pkey PRIMARY KEY (id)
) STRICT;
CREATE INDEX processes_seen_idx ON processes (seen_at);

-- Until when old rows of a table may be deleted. Where more than a day's worth has become old since
-- the last cleaning, all processes share one window an hour.
CREATE TABLE retention_windows (
    table_name  TEXT NOT NULL,
    until       TEXT NOT NULL,
    opened_at   TEXT NOT NULL, -- by the clock of the database
    CONSTRAINT retention_windows_pkey PRIMARY KEY (table_name)
) STRICT;

---------------------------------------------------------------------------------------------------
-- Businesses and their API keys
---------------------------------------------------------------------------------------------------

-- The customers of the delivery company. While a business is disabled, its keys do not work and its
-- people cannot sign in.
CREATE TABLE businesses (
    id              TEXT NOT NULL PRIMARY KEY,
    name            TEXT NOT NULL,
    rate_limit      INTEGER CHECK (rate_limit > 0), -- null: the default of the installation
    rate_window_ns  INTEGER CHECK (rate_window_ns > 0),
    disabled        INTEGER NOT NULL DEFAULT 0,
    created_at      TEXT NOT NULL,
    CONSTRAINT businesses_rate_check CHECK ((rate_limit IS NULL) = (rate_window_ns IS NULL))
) STRICT;
CREATE INDEX businesses_list_idx ON businesses (created_at, id);

-- The programs of a business. API keys, deliveries and webhook endpoints belong to an application.
CREATE TABLE applications (
    id           TEXT NOT NULL PRIMARY KEY,
    business_id  TEXT NOT NULL REFERENCES businesses (id),
    name         TEXT NOT NULL,
    disabled     INTEGER NOT NULL,
    created_at   TEXT NOT NULL,
    -- The foreign key of a delivery proves with it that its application is of its business.
    CONSTRAINT applications_tenant_key UNIQUE (id, business_id)
) STRICT;
CREATE INDEX applications_business_idx ON applications (business_id, created_at, id);

-- API keys. Only a digest is stored. last_used_at is not indexed, because it changes every few
-- seconds for each key in use.
CREATE TABLE api_keys (
    id              TEXT NOT NULL PRIMARY KEY,
    application_id  TEXT NOT NULL REFERENCES applications (id),
    environment     TEXT NOT NULL CHECK (environment IN ('live', 'sandbox')),
    digest          BLOB NOT NULL CHECK (length(digest) = 32),
    pepper          BLOB CHECK (length(pepper) = 32), -- the mark in key_pepper; null: the oldest one
    last_four       TEXT NOT NULL,
    scopes          TEXT NOT NULL, -- comma-separated
    created_at      TEXT NOT NULL,
    expires_at      TEXT,
    revoked_at      TEXT,
    last_used_at    TEXT,
    CONSTRAINT api_keys_digest_key UNIQUE (digest)
) STRICT;
CREATE INDEX api_keys_application_idx ON api_keys (application_id, created_at, id);
-- For the mails about keys that expire soon.
CREATE INDEX api_keys_expiry_idx ON api_keys (expires_at) WHERE expires_at IS NOT NULL AND revoked_at IS NULL;

-- Steps of going live that an application has completed, with the record that proves it. A row stays
-- when that record expires.
CREATE TABLE readiness (
    business_id     TEXT NOT NULL,
    application_id  TEXT NOT NULL REFERENCES applications (id),
    step            TEXT NOT NULL,
    at              TEXT NOT NULL,
    source          TEXT NOT NULL, -- the ID of a request, a key, a delivery or a webhook delivery
    CONSTRAINT readiness_pkey PRIMARY KEY (application_id, step)
) STRICT;

---------------------------------------------------------------------------------------------------
-- Recipients and pickup locations
---------------------------------------------------------------------------------------------------

-- People who receive deliveries, by phone number. The whole tenant is part of the primary key: a
-- foreign key cannot refer to a recipient of another business or environment.
CREATE TABLE recipients (
    id             TEXT NOT NULL,
    business_id    TEXT NOT NULL REFERENCES businesses (id),
    environment    TEXT NOT NULL CHECK (environment IN ('live', 'sandbox')),
    phone_number   TEXT NOT NULL,
    name           TEXT NOT NULL, -- empty: unknown
    search_text    TEXT NOT NULL, -- name and phone number, case folded by the program
    address_count  INTEGER NOT NULL CHECK (address_count BETWEEN 0 AND 200),
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL,
    CONSTRAINT recipients_phone_number_key UNIQUE (business_id, environment, phone_number),
    CONSTRAINT recipients_pkey PRIMARY KEY (id, business_id, environment)
) STRICT;
CREATE INDEX recipients_list_idx ON recipients (business_id, environment, created_at, id);

-- Searches for a part of a text use an index of trigrams. Its rows are numbered by a table of their
-- own, because VACUUM may give a row of a table whose key is a text another number.
CREATE TABLE recipients_search_rows (
    number  INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE
) STRICT;
CREATE VIRTUAL TABLE recipients_search USING fts5 (
    search_text, content = '', contentless_delete = 1, detail = 'none', tokenize = 'trigram case_sensitive 1'
);
-- +goose StatementBegin
CREATE TRIGGER recipients_search_insert AFTER INSERT ON recipients BEGIN
    INSERT INTO recipients_search_rows (id) VALUES (new.id);
    INSERT INTO recipients_search (rowid, search_text)
        SELECT number, new.search_text FROM recipients_search_rows WHERE id = new.id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER recipients_search_update AFTER UPDATE OF search_text ON recipients WHEN new.search_text <> old.search_text BEGIN
    UPDATE recipients_search SET search_text = new.search_text
        WHERE rowid = (SELECT number FROM recipients_search_rows WHERE id = new.id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER recipients_search_delete AFTER DELETE ON recipients BEGIN
    DELETE FROM recipients_search WHERE rowid = (SELECT number FROM recipients_search_rows WHERE id = old.id);
    DELETE FROM recipients_search_rows WHERE id = old.id;
END;
-- +goose StatementEnd

-- Addresses of recipients. A delivery cannot refer to an address of another recipient.
CREATE TABLE recipient_addresses (
    id              TEXT NOT NULL,
    recipient_id    TEXT NOT NULL,
    business_id     TEXT NOT NULL,
    environment     TEXT NOT NULL,
    label           TEXT NOT NULL,
    address         TEXT NOT NULL,
    match_key       TEXT NOT NULL, -- equal for addresses that are the same
    match_hash      BLOB NOT NULL, -- SHA-256 of match_key, which may be too long for an index
    latitude        REAL NOT NULL,
    longitude       REAL NOT NULL,
    municipality    TEXT NOT NULL,
    delivery_notes  TEXT NOT NULL,
    created_at      TEXT NOT NULL,
    CONSTRAINT recipient_addresses_match_key UNIQUE (recipient_id, match_hash),
    CONSTRAINT recipient_addresses_pkey PRIMARY KEY (id, recipient_id),
    CONSTRAINT recipient_addresses_recipient_fkey FOREIGN KEY (recipient_id, business_id, environment)
        REFERENCES recipients (id, business_id, environment)
) STRICT;

-- Places where riders pick up parcels of a business.
CREATE TABLE pickup_locations (
    id           TEXT NOT NULL PRIMARY KEY,
    business_id  TEXT NOT NULL REFERENCES businesses (id),
    environment  TEXT NOT NULL CHECK (environment IN ('live', 'sandbox')),
    name         TEXT NOT NULL,
    contact      TEXT NOT NULL, -- empty: missing
    address      TEXT NOT NULL,
    search_text  TEXT NOT NULL, -- name and address, case folded by the program
    latitude     REAL,
    longitude    REAL,
    active       INTEGER NOT NULL,
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,
    CONSTRAINT pickup_locations_coordinates_check CHECK ((latitude IS NULL) = (longitude IS NULL))
) STRICT;
CREATE INDEX pickup_locations_list_idx ON pickup_locations (business_id, environment, created_at, id);

CREATE TABLE pickup_locations_search_rows (
    number  INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE
) STRICT;
CREATE VIRTUAL TABLE pickup_locations_search USING fts5 (
    search_text, content = '', contentless_delete = 1, detail = 'none', tokenize = 'trigram case_sensitive 1'
);
-- +goose StatementBegin
CREATE TRIGGER pickup_locations_search_insert AFTER INSERT ON pickup_locations BEGIN
    INSERT INTO pickup_locations_search_rows (id) VALUES (new.id);
    INSERT INTO pickup_locations_search (rowid, search_text)
        SELECT number, new.search_text FROM pickup_locations_search_rows WHERE id = new.id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER pickup_locations_search_update AFTER UPDATE OF search_text ON pickup_locations WHEN new.search_text <> old.search_text BEGIN
    UPDATE pickup_locations_search SET search_text = new.search_text
        WHERE rowid = (SELECT number FROM pickup_locations_search_rows WHERE id = new.id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER pickup_locations_search_delete AFTER DELETE ON pickup_locations BEGIN
    DELETE FROM pickup_locations_search WHERE rowid = (SELECT number FROM pickup_locations_search_rows WHERE id = old.id);
    DELETE FROM pickup_locations_search_rows WHERE id = old.id;
END;
-- +goose StatementEnd

---------------------------------------------------------------------------------------------------
-- Deliveries
---------------------------------------------------------------------------------------------------

-- A row has all that the API shows of a delivery, as it was booked: a read needs no join, and a
-- renamed recipient changes no delivery. The simulation of a sandbox delivery is in its row too, so
-- that one lock covers both.
CREATE TABLE deliveries (
    id                       TEXT NOT NULL PRIMARY KEY,
    application_id           TEXT NOT NULL,
    business_id              TEXT NOT NULL,
    environment              TEXT NOT NULL CHECK (environment IN ('live', 'sandbox')),
    reference                TEXT NOT NULL,
    external_id              TEXT, -- null: none
    recipient_id             TEXT NOT NULL,
    recipient_name           TEXT NOT NULL,
    recipient_phone          TEXT NOT NULL,
    pickup_name              TEXT NOT NULL,
    pickup_contact           TEXT NOT NULL,
    pickup_address           TEXT NOT NULL,
    pickup_latitude          REAL NOT NULL,
    pickup_longitude         REAL NOT NULL,
    dropoff_id               TEXT NOT NULL,
    dropoff_address          TEXT NOT NULL,
    dropoff_latitude         REAL NOT NULL,
    dropoff_longitude        REAL NOT NULL,
    dropoff_label            TEXT NOT NULL,
    dropoff_municipality     TEXT NOT NULL,
    dropoff_notes            TEXT NOT NULL,
    payment_type             TEXT NOT NULL,
    goods_value_minor        INTEGER,
    vehicle_type             TEXT NOT NULL,
    currency                 TEXT NOT NULL, -- of every amount in the row
    delivery_fee_minor       INTEGER CHECK (delivery_fee_minor >= 0),
    requires_custom_quote    INTEGER NOT NULL,
    distance_km              REAL NOT NULL,
    distance_source          TEXT NOT NULL,
    instructions             TEXT NOT NULL,
    status                   TEXT NOT NULL,
    last_sequence            INTEGER NOT NULL CHECK (last_sequence > 0), -- of its events
    picked_up_at             TEXT,
    created_at               TEXT NOT NULL,
    updated_at               TEXT NOT NULL,
    simulation_scenario      TEXT,     -- null: no simulation was ever started
    simulation_status        TEXT,
    simulation_step          INTEGER, -- steps done
    simulation_step_seconds  INTEGER,
    simulation_next_at       TEXT, -- null, with the one below, unless the simulation runs
    simulation_ends_at       TEXT,
    CONSTRAINT deliveries_reference_key UNIQUE (reference),
    CONSTRAINT deliveries_external_id_key UNIQUE (application_id, environment, external_id),
    CONSTRAINT deliveries_application_fkey FOREIGN KEY (application_id, business_id)
        REFERENCES applications (id, business_id),
    CONSTRAINT deliveries_recipient_fkey FOREIGN KEY (recipient_id, business_id, environment)
        REFERENCES recipients (id, business_id, environment),
    CONSTRAINT deliveries_dropoff_fkey FOREIGN KEY (dropoff_id, recipient_id)
        REFERENCES recipient_addresses (id, recipient_id)
) STRICT;
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

-- The timeline of each delivery. It is never deleted.
CREATE TABLE delivery_events (
    id               TEXT NOT NULL PRIMARY KEY,
    delivery_id      TEXT NOT NULL REFERENCES deliveries (id),
    business_id      TEXT NOT NULL,
    sequence         INTEGER NOT NULL CHECK (sequence > 0),
    type             TEXT NOT NULL,
    status           TEXT NOT NULL,
    previous_status  TEXT NOT NULL, -- empty on the first event
    reason_code      TEXT NOT NULL, -- empty: none
    occurred_at      TEXT NOT NULL,
    CONSTRAINT delivery_events_sequence_key UNIQUE (delivery_id, sequence)
) STRICT;

-- How many simulations an application runs. It is a row and not a count, because two that start at
-- the same moment could both be the last one allowed.
CREATE TABLE simulation_counts (
    business_id     TEXT NOT NULL,
    application_id  TEXT NOT NULL PRIMARY KEY,
    running         INTEGER NOT NULL CHECK (running >= 0)
) STRICT;

---------------------------------------------------------------------------------------------------
-- Idempotency keys and bulks
---------------------------------------------------------------------------------------------------

-- Idempotency keys with the stored response. The lease is set while a bulk is in progress, and null
-- otherwise.
CREATE TABLE idempotency_keys (
    business_id     TEXT NOT NULL,
    application_id  TEXT NOT NULL,
    environment     TEXT NOT NULL,
    key             TEXT NOT NULL,
    fingerprint     BLOB NOT NULL CHECK (length(fingerprint) = 32), -- of the request
    claim_id        TEXT NOT NULL,
    status          INTEGER NOT NULL, -- HTTP status of the response; 0: none yet
    location        TEXT NOT NULL,     -- empty: none
    body            BLOB,
    created_at      TEXT NOT NULL,
    expires_at      TEXT NOT NULL,
    lease_token     TEXT,
    leased_until    TEXT,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (application_id, environment, key)
) STRICT;
CREATE INDEX idempotency_keys_expires_idx ON idempotency_keys (expires_at);

-- Results of items of bulks in progress. They are deleted when the bulk finishes, so the table stays
-- small, and what an abandoned bulk left is found without an index.
CREATE TABLE bulk_items (
    business_id  TEXT NOT NULL,
    claim_id     TEXT NOT NULL,
    item_index   INTEGER NOT NULL CHECK (item_index BETWEEN 0 AND 99),
    created      INTEGER NOT NULL CHECK (created IN (0, 1)),
    result       BLOB NOT NULL,
    expires_at   TEXT NOT NULL,
    CONSTRAINT bulk_items_pkey PRIMARY KEY (claim_id, item_index)
) STRICT;

---------------------------------------------------------------------------------------------------
-- The feed of events
---------------------------------------------------------------------------------------------------

-- Events with the JSON that is published, for 30 days. Rows are inserted and later deleted in the
-- order of their IDs, and never updated.
--
-- There is one writer, so that the order of positions is the order of commits.
CREATE TABLE feed_events (
    position        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    business_id     TEXT NOT NULL,
    application_id  TEXT NOT NULL,
    environment     TEXT NOT NULL,
    delivery_id     TEXT,             -- null: an event of a webhook endpoint
    sequence        INTEGER NOT NULL, -- within the delivery
    type            TEXT NOT NULL,
    occurred_at     TEXT NOT NULL,
    payload         BLOB NOT NULL
) STRICT;
CREATE INDEX feed_events_feed_idx ON feed_events (application_id, environment, position)
    WHERE delivery_id IS NOT NULL;
-- For the operators' feed, which covers all applications of an environment.
CREATE INDEX feed_events_all_idx ON feed_events (environment, position)
    WHERE delivery_id IS NOT NULL;

-- The position up to which events of an application were deleted.
CREATE TABLE feed_horizons (
    business_id     TEXT NOT NULL,
    application_id  TEXT NOT NULL,
    environment     TEXT NOT NULL,
    position        INTEGER NOT NULL,
    CONSTRAINT feed_horizons_pkey PRIMARY KEY (application_id, environment)
) STRICT;

---------------------------------------------------------------------------------------------------
-- Webhooks
---------------------------------------------------------------------------------------------------

-- Webhook endpoints. An application has at most 16 in an environment, each in its own slot. A deleted
-- endpoint has no slot and stays as long as its deliveries do.
CREATE TABLE webhook_endpoints (
    id               TEXT NOT NULL PRIMARY KEY,
    application_id   TEXT NOT NULL REFERENCES applications (id),
    business_id      TEXT NOT NULL REFERENCES businesses (id),
    environment      TEXT NOT NULL,
    slot             INTEGER CHECK (slot BETWEEN 0 AND 15),
    url              TEXT NOT NULL, -- empty: a listener
    event_types      TEXT NOT NULL, -- a JSON array, as it was given
    event_mask       INTEGER NOT NULL,
    description      TEXT NOT NULL,
    enabled          INTEGER NOT NULL,
    disabled_reason  TEXT NOT NULL,
    listener         INTEGER NOT NULL,
    secret           BLOB NOT NULL, -- sealed
    previous_secret  BLOB, -- sealed
    previous_until   TEXT,
    failures         INTEGER NOT NULL, -- in a row
    failing_since    TEXT,
    open_until       TEXT,
    opened           INTEGER NOT NULL,
    slow_until       TEXT,
    created_at       TEXT NOT NULL,
    updated_at       TEXT NOT NULL,
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    UNIQUE (application_id, environment, slot)
) STRICT;

-- The sender's lease of an endpoint, which changes many times a second.
CREATE TABLE webhook_leases (
    business_id   TEXT NOT NULL,
    endpoint_id   TEXT NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    number        INTEGER NOT NULL, -- of the version of the row; Postgres finds the newest by it
    token         TEXT,
    leased_until  TEXT,
    due_since     TEXT NOT NULL, -- nothing that is pending was due before it
    PRIMARY KEY (endpoint_id, number)
) STRICT;

-- Every endpoint begins with a lease that nobody holds.
-- +goose StatementBegin
CREATE TRIGGER webhook_endpoints_lease AFTER INSERT ON webhook_endpoints BEGIN
    INSERT INTO webhook_leases (endpoint_id, number, due_since, business_id)
        VALUES (new.id, 1, '1970-01-01T00:00:00.000Z', new.business_id);
END;
-- +goose StatementEnd

-- One event for one endpoint.
CREATE TABLE webhook_deliveries (
    id           TEXT NOT NULL PRIMARY KEY, -- the ID of the event with the slot of the endpoint
    business_id  TEXT NOT NULL,
    endpoint_id  TEXT NOT NULL,
    event_id     TEXT NOT NULL,
    event_type   TEXT NOT NULL,
    delivery_id  TEXT, -- null: an event of a webhook endpoint
    sequence     INTEGER NOT NULL,
    status       TEXT NOT NULL,
    attempts     INTEGER NOT NULL,
    used         INTEGER NOT NULL, -- attempts of the schedule; a manual one uses none
    due_at       TEXT,
    trigger      TEXT NOT NULL,
    back         TEXT NOT NULL, -- the status that a failed attempt outside of the schedule returns to
    created_at   TEXT NOT NULL,
    CHECK ((status = 'pending') = (due_at IS NOT NULL))
) STRICT;
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (endpoint_id, due_at, id) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_list_idx ON webhook_deliveries (endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_recoverable_idx ON webhook_deliveries (endpoint_id, created_at, id) WHERE status IN ('failed', 'held');

-- Attempts of webhook deliveries and how the receiver responded.
CREATE TABLE webhook_attempts (
    id                   TEXT NOT NULL PRIMARY KEY,
    business_id          TEXT NOT NULL,
    webhook_delivery_id  TEXT NOT NULL,
    number               INTEGER NOT NULL,
    trigger              TEXT NOT NULL,
    status_code          INTEGER NOT NULL,
    error_class          TEXT NOT NULL,
    duration_ms          INTEGER NOT NULL,
    excerpt              TEXT NOT NULL, -- of the response
    started_at           TEXT NOT NULL,
    next_at              TEXT,
    UNIQUE (webhook_delivery_id, number)
) STRICT;

-- Environments in which no webhooks are sent until a person resumes them.
CREATE TABLE webhook_pauses (
    environment  TEXT NOT NULL,
    since        TEXT NOT NULL,
    by_name      TEXT NOT NULL, -- of the person
    reason       TEXT NOT NULL,
    CONSTRAINT webhook_pauses_pkey PRIMARY KEY (environment)
) STRICT;

---------------------------------------------------------------------------------------------------
-- Request log and usage
---------------------------------------------------------------------------------------------------

-- Requests to the public API that succeeded. An ID contains the time.
CREATE TABLE request_successes (
    id              TEXT NOT NULL,
    client_id       TEXT NOT NULL, -- the caller's own name for the request; empty: none
    environment     TEXT NOT NULL,
    business_id     TEXT, -- null, with the two below: the caller is not known
    application_id  TEXT,
    key_id          TEXT,
    route           TEXT NOT NULL,
    delivery_id     TEXT,
    status          INTEGER NOT NULL,
    code            TEXT NOT NULL,
    fields          TEXT NOT NULL, -- that an error is about, comma-separated
    took_us         INTEGER NOT NULL,
    replayed        INTEGER NOT NULL,
    key_digest      BLOB, -- of the Idempotency-Key
    network         TEXT NOT NULL,
    agent           TEXT NOT NULL,
    weight          INTEGER NOT NULL, -- the number of requests that the row stands for
    CONSTRAINT request_successes_pkey PRIMARY KEY (id)
) STRICT;
CREATE INDEX request_successes_business_idx ON request_successes (business_id, id);
CREATE INDEX request_successes_delivery_idx ON request_successes (delivery_id, id) WHERE delivery_id IS NOT NULL;
CREATE INDEX request_successes_client_idx ON request_successes (client_id, id) WHERE client_id <> '';
CREATE INDEX request_successes_route_idx ON request_successes (business_id, route, id);
CREATE INDEX request_successes_key_idx ON request_successes (key_id, id) WHERE key_id IS NOT NULL;

-- Requests that failed. They are kept longer.
CREATE TABLE request_failures (
    id              TEXT NOT NULL,
    client_id       TEXT NOT NULL,
    environment     TEXT NOT NULL,
    business_id     TEXT,
    application_id  TEXT,
    key_id          TEXT,
    route           TEXT NOT NULL,
    delivery_id     TEXT,
    status          INTEGER NOT NULL,
    code            TEXT NOT NULL,
    fields          TEXT NOT NULL,
    took_us         INTEGER NOT NULL,
    replayed        INTEGER NOT NULL,
    key_digest      BLOB,
    network         TEXT NOT NULL,
    agent           TEXT NOT NULL,
    weight          INTEGER NOT NULL,
    CONSTRAINT request_failures_pkey PRIMARY KEY (id)
) STRICT;
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
    minute          TEXT NOT NULL,
    writer          TEXT NOT NULL, -- the process, and its environment
    environment     TEXT NOT NULL,
    business_id     TEXT NOT NULL,
    application_id  TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    route           TEXT NOT NULL,
    status          INTEGER NOT NULL,
    code            TEXT NOT NULL,
    calls           INTEGER NOT NULL,
    replayed        INTEGER NOT NULL,
    took_us         INTEGER NOT NULL, -- of all calls together
    CONSTRAINT usage_minutes_pkey PRIMARY KEY (business_id, minute, key_id, route, status, code, writer)
) STRICT;
CREATE INDEX usage_minutes_minute_idx ON usage_minutes (minute);

-- usage_minutes summed up by the hour, for figures of days and months. Triggers keep it exact: a
-- process writes the sums of a minute again as they grow, and the triggers add the difference in the
-- same transaction.
CREATE TABLE usage_hours (
    hour            TEXT NOT NULL,
    writer          TEXT NOT NULL,
    environment     TEXT NOT NULL,
    business_id     TEXT NOT NULL,
    application_id  TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    route           TEXT NOT NULL,
    status          INTEGER NOT NULL,
    code            TEXT NOT NULL,
    calls           INTEGER NOT NULL,
    replayed        INTEGER NOT NULL,
    took_us         INTEGER NOT NULL,
    last            TEXT NOT NULL, -- the last minute with a call
    CONSTRAINT usage_hours_pkey PRIMARY KEY (business_id, hour, key_id, route, status, code, writer)
) STRICT;
CREATE INDEX usage_hours_hour_idx ON usage_hours (hour);

-- +goose StatementBegin
CREATE TRIGGER usage_minutes_added AFTER INSERT ON usage_minutes FOR EACH ROW BEGIN
    INSERT INTO usage_hours VALUES (
        substr(NEW.minute, 1, 13) || ':00:00.000Z', NEW.writer, NEW.environment, NEW.business_id, NEW.application_id, NEW.key_id, NEW.route, NEW.status,
        NEW.code, NEW.calls, NEW.replayed, NEW.took_us, NEW.minute)
    ON CONFLICT (business_id, hour, key_id, route, status, code, writer) DO UPDATE SET
        calls = calls + excluded.calls, replayed = replayed + excluded.replayed, took_us = took_us + excluded.took_us, last = max(last, excluded.last);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_minutes_grown AFTER UPDATE ON usage_minutes FOR EACH ROW BEGIN
    UPDATE usage_hours SET calls = calls + NEW.calls - OLD.calls, replayed = replayed + NEW.replayed - OLD.replayed, took_us = took_us + NEW.took_us - OLD.took_us
    WHERE business_id = NEW.business_id AND hour = substr(NEW.minute, 1, 13) || ':00:00.000Z' AND key_id = NEW.key_id AND route = NEW.route
        AND status = NEW.status AND code = NEW.code AND writer = NEW.writer;
END;
-- +goose StatementEnd

---------------------------------------------------------------------------------------------------
-- Reports
---------------------------------------------------------------------------------------------------

-- What happened to deliveries by day. by_what is a sum of what the row is about: 1 vehicle, 2
-- municipality, 4 business, 8 month; a month has the day of its first. Columns that the row is not
-- about are empty, and the business is then the nil UUID.
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
    failed        TEXT NOT NULL,  -- a JSON object of counts by reason
    to_assign     BLOB NOT NULL, -- a histogram: pairs of varints, of a bucket and its count
    to_deliver    BLOB NOT NULL,
    CONSTRAINT report_figures_pkey PRIMARY KEY (environment, by_what, day, business_id, vehicle, municipality)
) STRICT;
CREATE INDEX report_figures_customer_idx ON report_figures (environment, by_what, business_id, day) WHERE by_what >= 4;

-- How far events are counted: by position in the feed for each environment, and for 'past' backwards
-- by ID, where position is where counting of the feed began. 'months' says that months are counted.
CREATE TABLE report_progress (
    stream    TEXT NOT NULL,
    position  INTEGER NOT NULL,
    sequence  INTEGER NOT NULL,
    event_id  TEXT NOT NULL,
    done      INTEGER NOT NULL,
    CONSTRAINT report_progress_pkey PRIMARY KEY (stream)
) STRICT;
INSERT INTO report_progress (stream, position, sequence, event_id, done)
VALUES ('months', 0, 0, '00000000000000000000000000000000', 1);

---------------------------------------------------------------------------------------------------
-- People
---------------------------------------------------------------------------------------------------

-- People who sign in to the portal and the console. Their roles are in memberships.
CREATE TABLE persons (
    id             TEXT NOT NULL,
    name           TEXT NOT NULL,
    email          TEXT NOT NULL, -- case folded
    state          TEXT NOT NULL CHECK (state IN ('invited', 'active', 'disabled')),
    password_hash  TEXT, -- null: no password
    created_at     TEXT NOT NULL,
    -- The person came by a link that nobody else was shown, or by the identity provider. Before
    -- that, whoever was shown the invitation may have opened the account.
    email_proven   INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT persons_pkey PRIMARY KEY (id),
    CONSTRAINT persons_email_key UNIQUE (email)
) STRICT;

-- The role of a person in a business, or in the staff of the delivery company.
CREATE TABLE memberships (
    person_id      TEXT NOT NULL REFERENCES persons (id),
    business_id    TEXT REFERENCES businesses (id), -- null: the staff
    role           TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    accepted_at    TEXT, -- null: invited only
    signed_out_at  TEXT, -- sessions from before do not show the business
    name           TEXT -- that the inviter typed, until the invitation is accepted; null: the person's own
) STRICT;
CREATE UNIQUE INDEX memberships_business_idx ON memberships (business_id, person_id) WHERE business_id IS NOT NULL;
CREATE UNIQUE INDEX memberships_staff_idx ON memberships (person_id) WHERE business_id IS NULL;
CREATE INDEX memberships_person_idx ON memberships (person_id);

-- Sign-in links and invitations. A link works once. A link that was made invalid counts as used.
CREATE TABLE person_links (
    id            TEXT NOT NULL,
    person_id     TEXT NOT NULL REFERENCES persons (id),
    business_id   TEXT, -- null: to the console
    purpose       TEXT NOT NULL CHECK (purpose IN ('sign_in', 'invitation')),
    digest        BLOB NOT NULL CHECK (length(digest) = 32),
    created_at    TEXT NOT NULL,
    expires_at    TEXT NOT NULL,
    used_at       TEXT,
    one_business  INTEGER NOT NULL DEFAULT 0, -- of an operator: the session shows this business alone
    -- Who was shown the link beside the person: empty for somebody else, 'mailed', 'asked' or
    -- 'command' for nobody, which proves the email address. One that was asked for is the person's
    -- own, and opens another business where this one is closed to them.
    origin        TEXT NOT NULL DEFAULT '',
    CONSTRAINT person_links_pkey PRIMARY KEY (id),
    CONSTRAINT person_links_digest_key UNIQUE (digest)
) STRICT;
CREATE INDEX person_links_person_idx ON person_links (person_id);
CREATE INDEX person_links_expiry_idx ON person_links (expires_at);

-- Browsers that are signed in.
CREATE TABLE sessions (
    id            TEXT NOT NULL,
    person_id     TEXT NOT NULL REFERENCES persons (id),
    business_id   TEXT, -- null: a session of the console
    digest        BLOB NOT NULL CHECK (length(digest) = 32),
    method        TEXT NOT NULL,
    device        TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    signed_in_at  TEXT NOT NULL,
    last_seen_at  TEXT NOT NULL,
    expires_at    TEXT NOT NULL,
    ended_at      TEXT,
    one_business  INTEGER NOT NULL DEFAULT 0, -- it shows this business alone, and nothing of the person
    CONSTRAINT sessions_pkey PRIMARY KEY (id),
    CONSTRAINT sessions_digest_key UNIQUE (digest)
) STRICT;
CREATE INDEX sessions_person_idx ON sessions (person_id, created_at, id);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);

-- Browsers in which a person has signed in before.
CREATE TABLE person_devices (
    person_id     TEXT NOT NULL REFERENCES persons (id),
    digest        BLOB NOT NULL CHECK (length(digest) = 32), -- of a secret in a cookie
    created_at    TEXT NOT NULL,
    last_seen_at  TEXT NOT NULL,
    CONSTRAINT person_devices_pkey PRIMARY KEY (person_id, digest)
) STRICT;
CREATE INDEX person_devices_seen_idx ON person_devices (last_seen_at);

-- Passkeys: the public keys of devices.
CREATE TABLE passkeys (
    id             TEXT NOT NULL,
    person_id      TEXT NOT NULL REFERENCES persons (id),
    name           TEXT NOT NULL,
    host           TEXT NOT NULL, -- of the page where it was created
    credential_id  BLOB NOT NULL CHECK (length(credential_id) BETWEEN 1 AND 1023),
    public_key     BLOB NOT NULL, -- COSE
    sign_count     INTEGER NOT NULL,
    syncs          INTEGER NOT NULL, -- it may be copied to other devices of the person
    created_at     TEXT NOT NULL,
    last_used_at   TEXT,
    CONSTRAINT passkeys_pkey PRIMARY KEY (id),
    CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id)
) STRICT;
CREATE INDEX passkeys_person_idx ON passkeys (person_id, created_at, id);

-- Accounts of the company's identity provider that persons sign in with.
CREATE TABLE person_identities (
    issuer      TEXT NOT NULL,
    subject     TEXT NOT NULL, -- the provider's name of the account
    person_id   TEXT NOT NULL REFERENCES persons (id),
    created_at  TEXT NOT NULL,
    CONSTRAINT person_identities_pkey PRIMARY KEY (issuer, subject)
) STRICT;
CREATE INDEX person_identities_person_idx ON person_identities (person_id);

-- Challenges without a response yet: of passkeys, and of browsers that are at the identity provider.
CREATE TABLE passkey_ceremonies (
    id          TEXT NOT NULL,
    purpose     TEXT NOT NULL CHECK (purpose IN ('add', 'sign_in', 'confirm', 'oidc_sign_in', 'oidc_confirm', 'oidc_connect')),
    session_id  TEXT, -- null: a browser without a session
    challenge   BLOB NOT NULL CHECK (length(challenge) = 32),
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    CONSTRAINT passkey_ceremonies_pkey PRIMARY KEY (id)
) STRICT;
CREATE INDEX passkey_ceremonies_expiry_idx ON passkey_ceremonies (expires_at);

-- Times at which a person of the staff saw the portal as a business, read-only and for a reason.
CREATE TABLE customer_views (
    id           TEXT NOT NULL,
    person_id    TEXT NOT NULL REFERENCES persons (id),
    business_id  TEXT NOT NULL REFERENCES businesses (id),
    session_id   TEXT NOT NULL, -- of the console
    reason       TEXT NOT NULL,
    link_digest  BLOB NOT NULL CHECK (length(link_digest) = 32),
    digest       BLOB CHECK (length(digest) = 32), -- of the cookie; null: not opened yet
    created_at   TEXT NOT NULL,
    expires_at   TEXT NOT NULL,
    opened_at    TEXT,
    ended_at     TEXT,
    CONSTRAINT customer_views_pkey PRIMARY KEY (id),
    CONSTRAINT customer_views_link_key UNIQUE (link_digest),
    CONSTRAINT customer_views_digest_key UNIQUE (digest)
) STRICT;
CREATE INDEX customer_views_unended_idx ON customer_views (id) WHERE opened_at IS NOT NULL AND ended_at IS NULL;

---------------------------------------------------------------------------------------------------
-- Operators
---------------------------------------------------------------------------------------------------

-- Tokens of the operations API.
CREATE TABLE operator_tokens (
    id            TEXT NOT NULL PRIMARY KEY,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL DEFAULT 'admin' CHECK (kind IN ('admin', 'dispatcher', 'read-only')),
    digest        BLOB NOT NULL CHECK (length(digest) = 32),
    pepper        BLOB CHECK (length(pepper) = 32), -- as of API keys
    last_four     TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    expires_at    TEXT,
    revoked_at    TEXT,
    last_used_at  TEXT,
    CONSTRAINT operator_tokens_digest_key UNIQUE (digest)
) STRICT;

-- What operators and people did. A row is written in the transaction of the change and never changed
-- or deleted.
CREATE TABLE audit_log (
    id                  TEXT NOT NULL PRIMARY KEY,
    at                  TEXT NOT NULL,
    operator_id         TEXT, -- null: a command, without a token
    operator_name       TEXT NOT NULL,
    action              TEXT NOT NULL,
    target              TEXT NOT NULL, -- with its prefix
    business_id         TEXT, -- null: of none
    details             TEXT NOT NULL, -- a JSON object of strings
    request_id          TEXT NOT NULL, -- empty: not by a request
    person_id           TEXT, -- who made the change
    person_business_id  TEXT -- on behalf of which business
) STRICT;
CREATE INDEX audit_log_target_idx ON audit_log (target, id);
CREATE INDEX audit_log_operator_idx ON audit_log (operator_id, id);
CREATE INDEX audit_log_business_idx ON audit_log (business_id, id);
CREATE INDEX audit_log_person_idx ON audit_log (person_id, id);

-- Requests of operators to move many deliveries, for 30 days. A process that works on one holds its
-- lease.
CREATE TABLE move_runs (
    id            TEXT NOT NULL,
    key           TEXT NOT NULL, -- of the request; operators share the keys
    fingerprint   BLOB NOT NULL CHECK (length(fingerprint) = 32),
    actor_id      TEXT NOT NULL, -- of an operator token or a person; empty: a command
    actor_name    TEXT NOT NULL,
    request_id    TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    finished_at   TEXT, -- null: in progress
    lease_token   TEXT,
    leased_until  TEXT,
    CONSTRAINT move_runs_pkey PRIMARY KEY (id),
    CONSTRAINT move_runs_key_key UNIQUE (key)
) STRICT;
CREATE INDEX move_runs_left_idx ON move_runs (id) WHERE finished_at IS NULL;

-- The deliveries of a run with their outcomes.
CREATE TABLE move_run_items (
    run_id       TEXT NOT NULL REFERENCES move_runs (id),
    item_index   INTEGER NOT NULL CHECK (item_index BETWEEN 0 AND 199),
    sent         TEXT NOT NULL, -- a reference or ID, as it was sent
    delivery_id  TEXT,          -- null: there is no such delivery
    reference    TEXT NOT NULL,
    to_status    TEXT NOT NULL,
    reason_code  TEXT NOT NULL, -- empty: none
    outcome      TEXT NOT NULL,
    current      TEXT NOT NULL, -- the status at the time of the outcome; empty: unknown
    code         TEXT NOT NULL, -- of a refusal, as the two below
    message      TEXT NOT NULL,
    allowed      TEXT NOT NULL, -- statuses, comma-separated
    CONSTRAINT move_run_items_pkey PRIMARY KEY (run_id, item_index)
) STRICT;

---------------------------------------------------------------------------------------------------
-- Emails
---------------------------------------------------------------------------------------------------

-- Emails to people, waiting and sent. A row says what an email is about; the text is made when it is
-- sent.
CREATE TABLE mails (
    id           TEXT NOT NULL, -- from kind, cause and recipient
    kind         TEXT NOT NULL,
    cause        TEXT NOT NULL, -- the record that it comes from
    business_id  TEXT,
    person_id    TEXT, -- null: a link was asked for by address
    email        TEXT, -- that address, while the email waits
    about        TEXT NOT NULL, -- an API key or a webhook endpoint
    facts        TEXT NOT NULL, -- a JSON object of strings
    created_at   TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'given_up', 'dropped')),
    due_at       TEXT NOT NULL, -- a leased email is due again when its lease ends
    expires_at   TEXT NOT NULL,
    attempts     INTEGER NOT NULL,
    settled_at   TEXT, -- null: it waits
    last_error   TEXT NOT NULL,
    budget       TEXT NOT NULL DEFAULT '', -- the limit that the email counts against; empty: none
    CONSTRAINT mails_pkey PRIMARY KEY (id)
) STRICT;
CREATE INDEX mails_due_idx ON mails (due_at) WHERE state = 'waiting';
CREATE INDEX mails_settled_idx ON mails (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX mails_budget_idx ON mails (business_id, created_at) WHERE budget <> '';
