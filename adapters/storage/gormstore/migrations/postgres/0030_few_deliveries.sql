-- +goose NO TRANSACTION
-- +goose Up

-- Deliveries of all customers that are few beside the others, in the order in which they are
-- listed. A create on live adds to neither index. A build that was cut off leaves an index
-- behind that cannot be used.
DROP INDEX CONCURRENTLY IF EXISTS deliveries_cancelled_idx;
CREATE INDEX CONCURRENTLY deliveries_cancelled_idx ON deliveries (environment, id) WHERE status = 'cancelled';
DROP INDEX CONCURRENTLY IF EXISTS deliveries_sandbox_idx;
CREATE INDEX CONCURRENTLY deliveries_sandbox_idx ON deliveries (id) WHERE environment = 'sandbox';
