-- The usable API keys of an application are read without those that were revoked.
-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS api_keys_usable_idx;
CREATE INDEX CONCURRENTLY api_keys_usable_idx ON api_keys (application_id, expires_at) WHERE revoked_at IS NULL;
