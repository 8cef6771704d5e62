-- +goose NO TRANSACTION
-- +goose Up

-- What people have to do something about, and what they look for it by. Each index has
-- all that a filter of the board asks for, so that rows which a filter leaves out are not
-- read. A build that was cut off leaves an index behind that cannot be used.
DROP INDEX CONCURRENTLY IF EXISTS deliveries_open_idx;
CREATE INDEX CONCURRENTLY deliveries_open_idx ON deliveries (environment, id, status, updated_at, business_id, application_id)
    WHERE status IN ('booked', 'assigned', 'picked_up', 'in_transit', 'outsourced');
DROP INDEX CONCURRENTLY IF EXISTS deliveries_failed_idx;
CREATE INDEX CONCURRENTLY deliveries_failed_idx ON deliveries (environment, updated_at, id, status, business_id, application_id)
    WHERE status = 'failed';
DROP INDEX CONCURRENTLY IF EXISTS deliveries_phone_idx;
CREATE INDEX CONCURRENTLY deliveries_phone_idx ON deliveries (recipient_phone, id);
