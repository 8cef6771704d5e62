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

-- It may have been there before, in a schema that is not searched.
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

-- A build that was cut off leaves an index behind that cannot be used. The short
-- list of pending entries bounds how long a create may take that files them.
DROP INDEX CONCURRENTLY IF EXISTS recipients_search_idx;
CREATE INDEX CONCURRENTLY recipients_search_idx ON recipients
    USING gin (search_text gin_trgm_ops) WITH (gin_pending_list_limit = 512);
DROP INDEX CONCURRENTLY IF EXISTS pickup_locations_search_idx;
CREATE INDEX CONCURRENTLY pickup_locations_search_idx ON pickup_locations
    USING gin (search_text gin_trgm_ops) WITH (gin_pending_list_limit = 512);
