-- The last API keys of an application in an environment are listed without reading those of the other one.
-- +goose Up
CREATE INDEX api_keys_listed_idx ON api_keys (application_id, environment, created_at, id);
