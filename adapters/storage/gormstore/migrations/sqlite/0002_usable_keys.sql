-- The usable API keys of an application are read without those that were revoked.
-- +goose Up
CREATE INDEX api_keys_usable_idx ON api_keys (application_id, expires_at) WHERE revoked_at IS NULL;
