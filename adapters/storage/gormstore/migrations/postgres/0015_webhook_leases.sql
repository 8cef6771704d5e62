-- +goose Up

-- What changes of an endpoint many times a second, apart from what it is. Whoever
-- takes a snapshot and keeps it, as pg_dump does, keeps all versions of a row that come
-- after it, and a look-up by a key walks through them. So each change takes the next
-- number, and the newest version is the first that is found from the end of the index.
CREATE TABLE webhook_leases (
    endpoint_id   uuid NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    number        bigint NOT NULL,
    token         uuid,
    leased_until  timestamptz,
    -- Nothing is pending that was due before, but what was committed very late. What was
    -- sent leaves entries in the index of what is due, which the same snapshot keeps.
    due_since     timestamptz(3) NOT NULL,
    CONSTRAINT webhook_leases_pkey PRIMARY KEY (endpoint_id, number)
);
INSERT INTO webhook_leases (endpoint_id, number, token, leased_until, due_since)
    SELECT id, 1, lease_token, leased_until, '1970-01-01T00:00:00Z' FROM webhook_endpoints;

-- The newest version, from the end of the index and no other way: by the few rows there
-- are Postgres takes it for cheaper to sort them all, and meets every version then.
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

-- Servers of the version before add endpoints too, and look at the columns of before.
-- +goose StatementBegin
CREATE FUNCTION webhook_endpoint_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_leases (endpoint_id, number, due_since) VALUES (NEW.id, 1, '1970-01-01T00:00:00Z');
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER webhook_endpoints_lease AFTER INSERT ON webhook_endpoints
    FOR EACH ROW EXECUTE FUNCTION webhook_endpoint_lease();
