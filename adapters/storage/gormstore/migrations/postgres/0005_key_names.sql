-- What people call an API key. Keys that programs and commands create have no name.
-- +goose Up
ALTER TABLE api_keys ADD COLUMN name text NOT NULL DEFAULT '';
