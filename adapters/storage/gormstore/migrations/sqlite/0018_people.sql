-- +goose Up

-- Who signs in to the portal and the console. What a person may do is in memberships.
CREATE TABLE persons (
    id             TEXT NOT NULL,
    name           TEXT NOT NULL,
    email          TEXT NOT NULL, -- folded
    state          TEXT NOT NULL CHECK (state IN ('invited', 'active', 'disabled')),
    password_hash  TEXT, -- null: none is set
    created_at     TEXT NOT NULL,
    CONSTRAINT persons_pkey PRIMARY KEY (id),
    CONSTRAINT persons_email_key UNIQUE (email)
) STRICT;

-- A person of a business or, without one, of the staff of the delivery company.
CREATE TABLE memberships (
    person_id    TEXT NOT NULL REFERENCES persons (id),
    business_id  TEXT REFERENCES businesses (id), -- null: the staff
    role         TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    accepted_at  TEXT -- null: invited only
) STRICT;
CREATE UNIQUE INDEX memberships_business_idx ON memberships (business_id, person_id) WHERE business_id IS NOT NULL;
CREATE UNIQUE INDEX memberships_staff_idx ON memberships (person_id) WHERE business_id IS NULL;
CREATE INDEX memberships_person_idx ON memberships (person_id);

-- Links let a person in, once. A link that was made useless counts as used.
CREATE TABLE person_links (
    id           TEXT NOT NULL,
    person_id    TEXT NOT NULL REFERENCES persons (id),
    business_id  TEXT, -- null: to the console
    purpose      TEXT NOT NULL CHECK (purpose IN ('sign_in', 'invitation')),
    digest       BLOB NOT NULL CHECK (length(digest) = 32),
    created_at   TEXT NOT NULL,
    expires_at   TEXT NOT NULL,
    used_at      TEXT,
    CONSTRAINT person_links_pkey PRIMARY KEY (id),
    CONSTRAINT person_links_digest_key UNIQUE (digest)
) STRICT;
CREATE INDEX person_links_person_idx ON person_links (person_id);
CREATE INDEX person_links_expiry_idx ON person_links (expires_at);

-- Browsers that are signed in.
CREATE TABLE sessions (
    id            TEXT NOT NULL,
    person_id     TEXT NOT NULL REFERENCES persons (id),
    business_id   TEXT, -- null: a session of the console
    digest        BLOB NOT NULL CHECK (length(digest) = 32),
    method        TEXT NOT NULL,
    device        TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    signed_in_at  TEXT NOT NULL,
    last_seen_at  TEXT NOT NULL,
    expires_at    TEXT NOT NULL,
    ended_at      TEXT,
    CONSTRAINT sessions_pkey PRIMARY KEY (id),
    CONSTRAINT sessions_digest_key UNIQUE (digest)
) STRICT;
CREATE INDEX sessions_person_idx ON sessions (person_id, created_at, id);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);

-- The person who made a change, and the business on whose behalf.
ALTER TABLE audit_log ADD COLUMN person_id TEXT;
ALTER TABLE audit_log ADD COLUMN person_business_id TEXT;
CREATE INDEX audit_log_business_idx ON audit_log (business_id, id);
CREATE INDEX audit_log_person_idx ON audit_log (person_id, id);
