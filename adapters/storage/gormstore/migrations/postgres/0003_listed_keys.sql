-- The last API keys of an application in an environment are listed without reading those of the other one.
-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS api_keys_listed_idx;
CREATE INDEX CONCURRENTLY api_keys_listed_idx ON api_keys (application_id, environment, created_at, id);
