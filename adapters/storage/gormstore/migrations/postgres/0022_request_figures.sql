-- +goose Up

-- usage_minutes summed up by the hour, for figures of days and months. Triggers keep
-- it exact: the sums of a minute are written again as they grow, and what they grew by
-- is added here, in the same transaction.
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
    last            timestamptz(3) NOT NULL, -- the last minute in which there was a call
    CONSTRAINT usage_hours_pkey PRIMARY KEY (business_id, hour, key_id, route, status, code, writer)
) PARTITION BY RANGE (hour);

-- +goose StatementBegin
DO $$
DECLARE
    part text;
    bounds text;
BEGIN
    FOR part, bounds IN SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'usage_minutes'::regclass
    LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF usage_hours %s', replace(part, 'usage_minutes', 'usage_hours'), bounds);
    END LOOP;
END
$$;
-- +goose StatementEnd

INSERT INTO usage_hours
SELECT date_trunc('hour', minute, 'UTC'), writer, environment, business_id, application_id, key_id, route, status, code,
    sum(calls), sum(replayed), sum(took_us), max(minute)
FROM usage_minutes
GROUP BY date_trunc('hour', minute, 'UTC'), writer, environment, business_id, application_id, key_id, route, status, code;

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

-- What lists are narrowed to may be rare among millions.
CREATE INDEX request_successes_route_idx ON request_successes (business_id, route, id);
CREATE INDEX request_successes_key_idx ON request_successes (key_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX request_failures_route_idx ON request_failures (business_id, route, id);
CREATE INDEX request_failures_key_idx ON request_failures (key_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX request_failures_code_idx ON request_failures (business_id, code, id);
CREATE INDEX request_failures_status_idx ON request_failures (business_id, status, id);
