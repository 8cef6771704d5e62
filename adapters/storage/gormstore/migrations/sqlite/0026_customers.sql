-- +goose Up

-- None of its keys works and none of its people is let in while set.
ALTER TABLE businesses ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;

-- A person of the staff who sees the portal as a customer, read-only and for a reason.
CREATE TABLE customer_views (
    id           TEXT NOT NULL,
    person_id    TEXT NOT NULL REFERENCES persons (id),
    business_id  TEXT NOT NULL REFERENCES businesses (id),
    session_id   TEXT NOT NULL, -- of the console
    reason       TEXT NOT NULL,
    link_digest  BLOB NOT NULL CHECK (length(link_digest) = 32),
    digest       BLOB CHECK (length(digest) = 32), -- of the cookie; null: not opened yet
    created_at   TEXT NOT NULL,
    expires_at   TEXT NOT NULL,
    opened_at    TEXT,
    ended_at     TEXT,
    CONSTRAINT customer_views_pkey PRIMARY KEY (id),
    CONSTRAINT customer_views_link_key UNIQUE (link_digest),
    CONSTRAINT customer_views_digest_key UNIQUE (digest)
) STRICT;
CREATE INDEX customer_views_unended_idx ON customer_views (id) WHERE opened_at IS NOT NULL AND ended_at IS NULL;

-- The newest customers first.
CREATE INDEX businesses_list_idx ON businesses (created_at, id);
