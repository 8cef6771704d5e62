-- +goose Up

-- Deliveries of all customers that are few beside the others, in the order in which they are
-- listed. A create on live adds to neither index.
CREATE INDEX deliveries_cancelled_idx ON deliveries (environment, id) WHERE status = 'cancelled';
CREATE INDEX deliveries_sandbox_idx ON deliveries (id) WHERE environment = 'sandbox';
