-- +goose Up

-- The newest deliveries of one customer, wherever they are among those of all. Keys are as
-- they were: this database is never distributed.
CREATE INDEX deliveries_business_idx ON deliveries (business_id, id);
