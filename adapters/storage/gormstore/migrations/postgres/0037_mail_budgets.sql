-- +goose Up

-- Mails that people cause are counted. Those from before this version count for nothing.
ALTER TABLE mails ADD COLUMN IF NOT EXISTS budget text NOT NULL DEFAULT '';
CREATE INDEX IF NOT EXISTS mails_budget_idx ON mails (business_id, created_at) WHERE budget <> '';
