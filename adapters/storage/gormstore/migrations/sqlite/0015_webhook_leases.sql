-- +goose Up

-- What changes of an endpoint many times a second, apart from what it is. On Postgres
-- the newest version of a row is found by its number; here there is only one.
CREATE TABLE webhook_leases (
    endpoint_id   TEXT NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    number        INTEGER NOT NULL,
    token         TEXT,
    leased_until  TEXT,
    due_since     TEXT NOT NULL, -- nothing is pending that was due before
    PRIMARY KEY (endpoint_id, number)
) STRICT;
INSERT INTO webhook_leases (endpoint_id, number, token, leased_until, due_since)
    SELECT id, 1, lease_token, leased_until, '1970-01-01T00:00:00.000Z' FROM webhook_endpoints;

-- +goose StatementBegin
CREATE TRIGGER webhook_endpoints_lease AFTER INSERT ON webhook_endpoints BEGIN
    INSERT INTO webhook_leases (endpoint_id, number, due_since) VALUES (new.id, 1, '1970-01-01T00:00:00.000Z');
END;
-- +goose StatementEnd
