-- +goose NO TRANSACTION
-- +goose Up

-- Every row of a business names it, so that the tables can be distributed by business.
-- All this runs beside traffic on large tables: no statement keeps readers or writers
-- out for longer than moments, and after a kill at any time the next run goes on.

-- Runs a statement that needs a table for itself. Others queue behind it while it waits
-- for the table, so it gives up early and comes again.
-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE change_table(which regclass, statement text) LANGUAGE plpgsql AS $$
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
        EXCEPTION WHEN lock_not_available THEN
            done := false;
        END;
        SET LOCAL synchronous_commit = off; -- the lock does not wait for the disk
        COMMIT;
        EXIT WHEN done;
        PERFORM pg_sleep(0.1 + 0.3 * random());
    END LOOP;
    IF NOT done THEN
        RAISE lock_not_available USING MESSAGE = format('table %s was in use at each of 1,000 tries', which),
            HINT = 'Look in pg_stat_activity for transactions that stay open, end them, and migrate again.';
    END IF;
END $$;
-- +goose StatementEnd

-- The columns, with a trigger that fills them wherever a statement leaves them empty: those
-- of a server of the version before do, and so does the filling below. The trigger asks a
-- table that has had the business all along. Rows whose owner was deleted get the nil UUID.
-- An item of a bulk expires with its key, whose claim_id has no index.
-- +goose StatementBegin
DO $$
DECLARE
    which text;
    owner text;
BEGIN
    FOR which, owner IN VALUES
        ('delivery_events', 'SELECT business_id FROM deliveries WHERE id = NEW.delivery_id'),
        ('idempotency_keys', 'SELECT business_id FROM applications WHERE id = NEW.application_id'),
        ('bulk_items', 'SELECT a.business_id FROM idempotency_keys k JOIN applications a ON a.id = k.application_id
            WHERE k.claim_id = NEW.claim_id AND k.expires_at = NEW.expires_at'),
        ('simulation_counts', 'SELECT business_id FROM applications WHERE id = NEW.application_id'),
        ('feed_events', 'SELECT business_id FROM applications WHERE id = NEW.application_id'),
        ('feed_horizons', 'SELECT business_id FROM applications WHERE id = NEW.application_id'),
        ('webhook_deliveries', 'SELECT business_id FROM webhook_endpoints WHERE id = NEW.endpoint_id'),
        ('webhook_attempts', 'SELECT e.business_id FROM webhook_deliveries w JOIN webhook_endpoints e ON e.id = w.endpoint_id
            WHERE w.id = NEW.webhook_delivery_id'),
        ('webhook_leases', 'SELECT business_id FROM webhook_endpoints WHERE id = NEW.endpoint_id'),
        ('readiness', 'SELECT business_id FROM applications WHERE id = NEW.application_id')
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $f$
            BEGIN
                NEW.business_id := COALESCE((%s), ''00000000-0000-0000-0000-000000000000'');
                RETURN NEW;
            END $f$', which || '_business', owner);
        CONTINUE WHEN EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = which::regclass AND attname = 'business_id' AND attnotnull);
        CALL change_table(which, format('ALTER TABLE %1$I ADD COLUMN IF NOT EXISTS business_id uuid;
            CREATE OR REPLACE TRIGGER business BEFORE INSERT OR UPDATE ON %1$I
                FOR EACH ROW WHEN (NEW.business_id IS NULL) EXECUTE FUNCTION %2$I()', which, which || '_business'));
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION webhook_endpoint_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_leases (endpoint_id, number, due_since, business_id) VALUES (NEW.id, 1, '1970-01-01T00:00:00Z', NEW.business_id);
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Fills the rows there are, some pages of a table at a time: as many as take a few
-- hundredths of a second, and then a pause of the same length. A row that is held is left
-- for the next pass, so that this waits for no transaction.
-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE fill_business(which regclass) LANGUAGE plpgsql AS $$
DECLARE
    page bigint;
    step bigint := 8;
    filled bigint;
    refused bigint;
    unfilled boolean;
    began timestamptz;
    took interval;
    any_filled boolean;
    stalled integer := 0;
BEGIN
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %s WHERE business_id IS NULL)', which) INTO unfilled;
        EXIT WHEN NOT unfilled;
        IF stalled = 720 THEN
            RAISE EXCEPTION USING MESSAGE = format('no row of %s could be given its business for an hour, and some have none', which),
                HINT = 'Look in pg_stat_activity and pg_prepared_xacts for transactions that stay open, end them, and migrate again.';
        END IF;
        page := 0;
        any_filled := false;
        WHILE page * current_setting('block_size')::bigint < pg_relation_size(which) LOOP
            began := clock_timestamp();
            EXECUTE format('WITH done AS (UPDATE %1$s SET business_id = NULL WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM %1$s WHERE ctid >= ''(%2$s,0)'' AND ctid < ''(%3$s,0)'' AND business_id IS NULL
                FOR NO KEY UPDATE SKIP LOCKED)) RETURNING business_id)
                SELECT count(business_id), count(*) - count(business_id) FROM done', which, page, page + step) INTO filled, refused;
            IF refused > 0 THEN
                RAISE EXCEPTION USING MESSAGE = format('the trigger business of table %s does not run for the role that migrates', which),
                    HINT = 'Enable it, leave session_replication_role at origin, and migrate again.';
            END IF;
            SET LOCAL synchronous_commit = off; -- a row that is lost in a crash is filled again
            COMMIT;
            page := page + step;
            took := clock_timestamp() - began;
            IF filled > 0 THEN
                any_filled := true;
                PERFORM pg_sleep_for(least(took, interval '1 s'));
            END IF;
            step := CASE WHEN took > interval '30 ms' THEN greatest(step / 2, 8) WHEN took < interval '10 ms' THEN least(step * 2, 64) ELSE step END;
        END LOOP;
        stalled := CASE WHEN any_filled THEN 0 ELSE stalled + 1 END;
        PERFORM pg_sleep(least(0.1 + stalled, 5)); -- what is left is held by others
    END LOOP;
    COMMIT;
END $$;
-- +goose StatementEnd

-- What is filled is held to be: by a constraint that is checked beside traffic, and with it
-- NOT NULL needs no look at the rows. From then on the trigger is for servers of the version
-- before alone; one before each update would cost those that leave the column as it is.
-- +goose StatementBegin
DO $$
DECLARE
    which regclass;
BEGIN
    FOR which IN SELECT t.tgrelid FROM pg_trigger t JOIN pg_attribute a ON a.attrelid = t.tgrelid AND a.attname = 'business_id'
        WHERE t.tgname = 'business' AND pg_table_is_visible(t.tgrelid) AND NOT a.attnotnull ORDER BY pg_relation_size(t.tgrelid)
    LOOP
        CALL fill_business(which);
        IF NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = which AND conname = 'business_check') THEN
            CALL change_table(which, format('ALTER TABLE %s ADD CONSTRAINT business_check CHECK (business_id IS NOT NULL) NOT VALID', which));
        END IF;
        EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT business_check', which);
        COMMIT;
        CALL change_table(which, format('ALTER TABLE %1$s ALTER business_id SET NOT NULL; ALTER TABLE %1$s DROP CONSTRAINT business_check;
            CREATE OR REPLACE TRIGGER business BEFORE INSERT ON %1$s
                FOR EACH ROW WHEN (NEW.business_id IS NULL) EXECUTE FUNCTION %2$s()', which, which::text || '_business'));
    END LOOP;
END $$;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS fill_business(regclass);
DROP PROCEDURE IF EXISTS change_table(regclass, text);
