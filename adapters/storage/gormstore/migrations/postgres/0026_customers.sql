-- +goose Up

-- None of its keys works and none of its people is let in while set.
ALTER TABLE businesses ADD COLUMN disabled boolean NOT NULL DEFAULT false;

-- A person of the staff who sees the portal as a customer, read-only and for a reason.
CREATE TABLE customer_views (
    id           uuid NOT NULL,
    person_id    uuid NOT NULL REFERENCES persons (id),
    business_id  uuid NOT NULL REFERENCES businesses (id),
    session_id   uuid NOT NULL, -- of the console
    reason       text NOT NULL,
    link_digest  bytea NOT NULL CHECK (octet_length(link_digest) = 32),
    digest       bytea CHECK (octet_length(digest) = 32), -- of the cookie; null: not opened yet
    created_at   timestamptz(3) NOT NULL,
    expires_at   timestamptz(3) NOT NULL,
    opened_at    timestamptz(3),
    ended_at     timestamptz(3),
    CONSTRAINT customer_views_pkey PRIMARY KEY (id),
    CONSTRAINT customer_views_link_key UNIQUE (link_digest),
    CONSTRAINT customer_views_digest_key UNIQUE (digest)
);
CREATE INDEX customer_views_unended_idx ON customer_views (id) WHERE opened_at IS NOT NULL AND ended_at IS NULL;

-- The newest customers first.
CREATE INDEX businesses_list_idx ON businesses (created_at, id);
