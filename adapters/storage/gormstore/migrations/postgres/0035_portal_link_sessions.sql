-- +goose Up

-- A session that the link of an operator opened shows one business alone and reaches nothing
-- that belongs to the person.
ALTER TABLE person_links ADD COLUMN IF NOT EXISTS one_business boolean NOT NULL DEFAULT false;
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS one_business boolean NOT NULL DEFAULT false;

-- When a person was last signed out of a business: no session from before shows it again.
ALTER TABLE memberships ADD COLUMN IF NOT EXISTS signed_out_at timestamptz(3);
