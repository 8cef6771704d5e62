-- +goose Up

-- Not indexed, so that an update rewrites no index: it comes every few seconds
-- for each key in use.
ALTER TABLE api_keys ADD COLUMN last_used_at TEXT;
