-- +goose NO TRANSACTION
-- +goose Up

-- A search for a part of a text finds its rows by the three characters that stand
-- side by side in it. The extension is a trusted one: the owner of the database may
-- create it.
-- +goose StatementBegin
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
EXCEPTION WHEN OTHERS THEN
    RAISE EXCEPTION 'the extension pg_trgm cannot be created: %', SQLERRM
        USING HINT = 'It is in the package postgresql-contrib. Run CREATE EXTENSION pg_trgm in this database as a superuser or as its owner, then migrate again.';
END $$;
-- +goose StatementEnd

-- A build that was cut off leaves an index behind that cannot be used. The short
-- list of pending entries bounds how long a create may take that files them.
DROP INDEX CONCURRENTLY IF EXISTS recipients_search_idx;
CREATE INDEX CONCURRENTLY recipients_search_idx ON recipients
    USING gin (search_text gin_trgm_ops) WITH (gin_pending_list_limit = 512);
DROP INDEX CONCURRENTLY IF EXISTS pickup_locations_search_idx;
CREATE INDEX CONCURRENTLY pickup_locations_search_idx ON pickup_locations
    USING gin (search_text gin_trgm_ops) WITH (gin_pending_list_limit = 512);
