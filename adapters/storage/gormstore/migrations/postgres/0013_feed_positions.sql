-- +goose Up

-- The position of an event was the number of its transaction, and what was above the
-- oldest transaction of the whole server was not read: so any of them, in any
-- database, held the feed up. Now it comes from a sequence, and a transaction holds,
-- from before it takes a number until it ends, an advisory lock that tells from where
-- on its numbers are. Whoever reads stops short of the least of those.
CREATE SEQUENCE feed_positions MINVALUE 0 START WITH 0;

-- Up to which position events of an application were deleted.
CREATE TABLE feed_horizons (
    application_id  uuid NOT NULL,
    environment     text NOT NULL,
    position        bigint NOT NULL,
    CONSTRAINT feed_horizons_pkey PRIMARY KEY (application_id, environment)
);

-- A server of the version before still stores the number of its transaction.
-- +goose StatementBegin
CREATE FUNCTION feed_position() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(2002937444, ((last_value & 4294967295) - 2147483648)::integer) FROM feed_positions;
    NEW.position := nextval('feed_positions');
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- The sequence begins far above all positions there are, and all that such a server
-- may come to.
-- +goose StatementBegin
DO $$
DECLARE
    first bigint;
BEGIN
    LOCK TABLE feed_events IN SHARE ROW EXCLUSIVE MODE;
    SELECT greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint + (SELECT last_value FROM feed_ahead),
        (SELECT max(position) FROM (SELECT position FROM feed_events ORDER BY id DESC LIMIT 1000) AS newest)) + 4294967296 INTO first;
    PERFORM setval('feed_positions', first);
    EXECUTE format('CREATE TRIGGER feed_events_position BEFORE INSERT ON feed_events
        FOR EACH ROW WHEN (NEW.position < %s) EXECUTE FUNCTION feed_position()', first);
END $$;
-- +goose StatementEnd
