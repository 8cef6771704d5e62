-- +goose NO TRANSACTION
-- +goose Up

-- Keys name the business of their row, and foreign keys between tables of a business do: a
-- table that is distributed by business needs both. The business is the last column. IDs are
-- in the order of time, so that a new row goes where the one before went, and whoever knows an
-- ID alone finds its row as before: a server of the version before, a sender of webhooks, staff.
--
-- These keys stay as they are:
--   - deliveries_reference_key: a reference is unique among all businesses, and is looked up
--     before it is known whose it is.
--   - idempotency_keys_pkey, bulk_items_pkey, simulation_counts_pkey, readiness_pkey,
--     feed_horizons_pkey, pickup_locations_pkey and recipient_addresses_match_key: servers of
--     the version before name their columns in ON CONFLICT, which fails where no key has
--     exactly those. From this version on none does, so that a later one may change them.
--   - recipients_pkey, recipients_phone_number_key, report_figures_pkey, usage_minutes_pkey and
--     usage_hours_pkey have named the business all along.
--   - webhook_endpoints_pkey: a caller chooses that ID, so it is unique among all businesses.
--     Beside it is a key with the business, for the foreign key of leases.
--   - those of the request log, feed_events and webhook_attempts, which are still to follow.
--
-- All this runs beside traffic on large tables: a new index is built without a lock, takes the
-- place of the old one within moments, and after a kill at any time the next run goes on.

-- Runs a statement that needs some tables for itself. Others queue behind it while it waits
-- for the tables, so it gives up early and comes again.
-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE change_tables(which text, statement text) LANGUAGE plpgsql AS $$
DECLARE
    done boolean := false;
BEGIN
    FOR try IN 1..1000 LOOP
        BEGIN
            -- Autovacuum gives way to this lock, and no reader or writer waits for it.
            SET LOCAL lock_timeout = '10s';
            EXECUTE format('LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE', which);
            SET LOCAL lock_timeout = '50ms';
            EXECUTE statement;
            done := true;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            done := false;
        END;
        SET LOCAL synchronous_commit = off; -- nor does the lock wait for the disk, but where an index is dropped
        COMMIT;
        EXIT WHEN done;
        PERFORM pg_sleep(0.1 + 0.3 * random());
    END LOOP;
    IF NOT done THEN
        RAISE lock_not_available USING MESSAGE = format('one of %s was in use at each of 1,000 tries', which),
            HINT = 'Look in pg_stat_activity for transactions that stay open, end them, and migrate again.';
    END IF;
END $$;
-- +goose StatementEnd

-- A build that was cut off leaves an index behind that cannot be used.
-- +goose StatementBegin
DO $$
DECLARE
    which regclass;
    index name;
BEGIN
    FOR which, index IN SELECT x.indrelid, c.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
        WHERE NOT x.indisvalid AND pg_table_is_visible(c.oid)
            AND (c.relname LIKE '%\_of\_business' OR c.relname = 'webhook_endpoints_tenant_key')
    LOOP
        CALL change_tables(which::text, format('DROP INDEX %I', index));
    END LOOP;
END $$;
-- +goose StatementEnd

-- The indexes of the new keys. One that has taken its place already has left its name to a
-- type, so that it is not built again.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS webhook_leases_pkey_of_business ON webhook_leases (endpoint_id, number, business_id);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS webhook_endpoints_tenant_key ON webhook_endpoints (id, business_id);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS webhook_endpoints_slot_key_of_business
    ON webhook_endpoints (application_id, environment, slot, business_id);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS webhook_deliveries_pkey_of_business ON webhook_deliveries (id, business_id);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS recipient_addresses_pkey_of_business
    ON recipient_addresses (id, recipient_id, business_id);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS deliveries_pkey_of_business ON deliveries (id, business_id);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS deliveries_external_id_key_of_business
    ON deliveries (application_id, environment, external_id, business_id);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS delivery_events_pkey_of_business ON delivery_events (id, business_id);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS delivery_events_sequence_key_of_business
    ON delivery_events (delivery_id, sequence, business_id);

-- Foreign keys come before the keys that the old ones hang on. They are checked beside traffic.
-- +goose StatementBegin
DO $$
DECLARE
    which text;
    key text;
    columns text;
    owner text;
    owned text;
    old text;
BEGIN
    FOR which, key, columns, owner, owned, old IN VALUES
        ('webhook_leases', 'webhook_leases_endpoint_fkey', 'endpoint_id, business_id', 'webhook_endpoints',
            '(id, business_id) ON DELETE CASCADE', 'webhook_leases_endpoint_id_fkey'),
        ('deliveries', 'deliveries_address_fkey', 'dropoff_id, recipient_id, business_id', 'recipient_addresses',
            '(id, recipient_id, business_id)', 'deliveries_dropoff_fkey'),
        ('delivery_events', 'delivery_events_delivery_fkey', 'delivery_id, business_id', 'deliveries', '(id, business_id)',
            'delivery_events_delivery_id_fkey')
    LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = which::regclass AND conname = key) THEN
            CALL change_tables(which || ', ' || owner, format(
                'ALTER TABLE %I ADD CONSTRAINT %I FOREIGN KEY (%s) REFERENCES %I %s NOT VALID', which, key, columns, owner, owned));
        END IF;
        EXECUTE format('ALTER TABLE %I VALIDATE CONSTRAINT %I', which, key);
        COMMIT;
        IF EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = which::regclass AND conname = old) THEN
            CALL change_tables(which || ', ' || owner, format('ALTER TABLE %I DROP CONSTRAINT %I', which, old));
        END IF;
    END LOOP;
END $$;
-- +goose StatementEnd

-- Each index takes the place of the old one, and its name. Servers tell by the names of keys
-- which one a row violates.
-- +goose StatementBegin
DO $$
DECLARE
    index name;
    which regclass;
    kind text;
    key text;
BEGIN
    FOR index, which, kind IN SELECT c.relname, x.indrelid, CASE WHEN c.relname LIKE '%\_pkey\_%' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END
        FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid WHERE c.relname LIKE '%\_of\_business' AND pg_table_is_visible(c.oid)
    LOOP
        key := replace(replace(index, '_of_business', ''), 'endpoints_slot_key', 'endpoints_application_id_environment_slot_key');
        -- A run that was killed at its end has them all in place already.
        IF EXISTS (SELECT 1 FROM pg_constraint k JOIN pg_attribute b ON b.attrelid = k.conrelid AND b.attname = 'business_id'
            WHERE k.conrelid = which AND k.conname = key AND b.attnum = ANY (k.conkey)) THEN
            CALL change_tables(which::text, format('DROP INDEX %I', index));
            CONTINUE;
        END IF;
        CALL change_tables(which::text, format('ALTER TABLE %1$s DROP CONSTRAINT %2$I, ADD CONSTRAINT %2$I %3$s USING INDEX %4$I;
            CREATE TYPE %4$I AS ()', which, key, kind, index));
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    placeholder regclass;
BEGIN
    FOR placeholder IN SELECT oid FROM pg_class WHERE relkind = 'c' AND relname LIKE '%\_of\_business' AND pg_table_is_visible(oid) LOOP
        EXECUTE format('DROP TYPE %s', placeholder);
    END LOOP;
END $$;
-- +goose StatementEnd

-- An application is of one business, and so is an endpoint: without that Postgres expects few
-- rows where both are asked for, and sorts all rows of one of them for a page of a list. An
-- index of deliveries by business alone would be combined with that of a list for the same
-- reason, statistics or not, so there is none.
-- +goose StatementBegin
DO $$
BEGIN
    CALL change_tables('deliveries',
        'CREATE STATISTICS IF NOT EXISTS deliveries_tenant (dependencies) ON business_id, application_id FROM deliveries');
    CALL change_tables('feed_events',
        'CREATE STATISTICS IF NOT EXISTS feed_events_tenant (dependencies) ON business_id, application_id FROM feed_events');
    CALL change_tables('webhook_deliveries',
        'CREATE STATISTICS IF NOT EXISTS webhook_deliveries_tenant (dependencies) ON business_id, endpoint_id FROM webhook_deliveries');
END $$;
-- +goose StatementEnd
ANALYZE deliveries;
ANALYZE feed_events;
ANALYZE webhook_deliveries;
DROP PROCEDURE IF EXISTS change_tables(text, text);
