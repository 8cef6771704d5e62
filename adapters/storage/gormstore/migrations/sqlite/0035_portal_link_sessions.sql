-- +goose Up

-- A session that the link of an operator opened shows one business alone and reaches nothing
-- that belongs to the person.
ALTER TABLE person_links ADD COLUMN one_business INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN one_business INTEGER NOT NULL DEFAULT 0;

-- When a person was last signed out of a business: no session from before shows it again.
ALTER TABLE memberships ADD COLUMN signed_out_at TEXT;
