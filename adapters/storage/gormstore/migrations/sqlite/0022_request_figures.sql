-- +goose Up

-- usage_minutes summed up by the hour, for figures of days and months. Triggers keep
-- it exact: the sums of a minute are written again as they grow, and what they grew by
-- is added here, in the same transaction.
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
    last            TEXT NOT NULL, -- the last minute in which there was a call
    CONSTRAINT usage_hours_pkey PRIMARY KEY (business_id, hour, key_id, route, status, code, writer)
) STRICT;
CREATE INDEX usage_hours_hour_idx ON usage_hours (hour);

INSERT INTO usage_hours
SELECT substr(minute, 1, 13) || ':00:00.000Z', writer, environment, business_id, application_id, key_id, route, status, code,
    sum(calls), sum(replayed), sum(took_us), max(minute)
FROM usage_minutes
GROUP BY substr(minute, 1, 13), writer, environment, business_id, application_id, key_id, route, status, code;

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

-- What lists are narrowed to may be rare among millions.
CREATE INDEX request_successes_route_idx ON request_successes (business_id, route, id);
CREATE INDEX request_successes_key_idx ON request_successes (key_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX request_failures_route_idx ON request_failures (business_id, route, id);
CREATE INDEX request_failures_key_idx ON request_failures (key_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX request_failures_code_idx ON request_failures (business_id, code, id);
CREATE INDEX request_failures_status_idx ON request_failures (business_id, status, id);
