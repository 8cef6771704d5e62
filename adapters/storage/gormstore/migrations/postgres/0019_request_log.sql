-- +goose Up

-- What the public API was asked, in partitions of a day of UTC, which are made ahead
-- and dropped whole. An ID tells the time, so that days are bounds of IDs.
-- +goose StatementBegin
DO $$
DECLARE kind text;
BEGIN
    FOREACH kind IN ARRAY ARRAY['request_successes', 'request_failures'] LOOP
        EXECUTE format('CREATE TABLE %I (
            id              uuid NOT NULL,
            client_id       text NOT NULL, -- empty: the caller gave it no name
            environment     text NOT NULL,
            business_id     uuid, -- null, with those below: nobody known
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
            weight          integer NOT NULL, -- requests that it stands for
            CONSTRAINT %I PRIMARY KEY (id)
        ) PARTITION BY RANGE (id)', kind, kind || '_pkey');
        EXECUTE format('CREATE INDEX %I ON %I (business_id, id)', kind || '_business_idx', kind);
        EXECUTE format('CREATE INDEX %I ON %I (delivery_id, id) WHERE delivery_id IS NOT NULL', kind || '_delivery_idx', kind);
        EXECUTE format('CREATE INDEX %I ON %I (client_id, id) WHERE client_id <> ''''', kind || '_client_idx', kind);
    END LOOP;
END
$$;
-- +goose StatementEnd

CREATE VIEW request_log AS SELECT * FROM request_failures UNION ALL SELECT * FROM request_successes;

-- How often a key got which answer in a minute. Each process has rows of its own,
-- with its sum of the whole minute.
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
    took_us         bigint NOT NULL, -- of all together
    CONSTRAINT usage_minutes_pkey PRIMARY KEY (business_id, minute, key_id, route, status, code, writer)
) PARTITION BY RANGE (minute);
