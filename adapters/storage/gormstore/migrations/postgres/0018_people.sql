-- +goose Up

-- Who signs in to the portal and the console. What a person may do is in memberships.
CREATE TABLE persons (
    id             uuid NOT NULL,
    name           text NOT NULL,
    email          text NOT NULL, -- folded
    state          text NOT NULL CONSTRAINT persons_state_check CHECK (state IN ('invited', 'active', 'disabled')),
    password_hash  text, -- null: none is set
    created_at     timestamptz(3) NOT NULL,
    CONSTRAINT persons_pkey PRIMARY KEY (id),
    CONSTRAINT persons_email_key UNIQUE (email)
);

-- A person of a business or, without one, of the staff of the delivery company.
CREATE TABLE memberships (
    person_id    uuid NOT NULL REFERENCES persons (id),
    business_id  uuid REFERENCES businesses (id), -- null: the staff
    role         text NOT NULL,
    created_at   timestamptz(3) NOT NULL,
    accepted_at  timestamptz(3) -- null: invited only
);
CREATE UNIQUE INDEX memberships_business_idx ON memberships (business_id, person_id) WHERE business_id IS NOT NULL;
CREATE UNIQUE INDEX memberships_staff_idx ON memberships (person_id) WHERE business_id IS NULL;
CREATE INDEX memberships_person_idx ON memberships (person_id);

-- Links let a person in, once. A link that was made useless counts as used.
CREATE TABLE person_links (
    id           uuid NOT NULL,
    person_id    uuid NOT NULL REFERENCES persons (id),
    business_id  uuid, -- null: to the console
    purpose      text NOT NULL CONSTRAINT person_links_purpose_check CHECK (purpose IN ('sign_in', 'invitation')),
    digest       bytea NOT NULL CHECK (octet_length(digest) = 32),
    created_at   timestamptz(3) NOT NULL,
    expires_at   timestamptz(3) NOT NULL,
    used_at      timestamptz(3),
    CONSTRAINT person_links_pkey PRIMARY KEY (id),
    CONSTRAINT person_links_digest_key UNIQUE (digest)
);
CREATE INDEX person_links_person_idx ON person_links (person_id);
CREATE INDEX person_links_expiry_idx ON person_links (expires_at);

-- Browsers that are signed in.
CREATE TABLE sessions (
    id            uuid NOT NULL,
    person_id     uuid NOT NULL REFERENCES persons (id),
    business_id   uuid, -- null: a session of the console
    digest        bytea NOT NULL CHECK (octet_length(digest) = 32),
    method        text NOT NULL,
    device        text NOT NULL,
    created_at    timestamptz(3) NOT NULL,
    signed_in_at  timestamptz(3) NOT NULL,
    last_seen_at  timestamptz(3) NOT NULL,
    expires_at    timestamptz(3) NOT NULL,
    ended_at      timestamptz(3),
    CONSTRAINT sessions_pkey PRIMARY KEY (id),
    CONSTRAINT sessions_digest_key UNIQUE (digest)
);
CREATE INDEX sessions_person_idx ON sessions (person_id, created_at, id);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);

-- The person who made a change, and the business on whose behalf.
ALTER TABLE audit_log ADD COLUMN person_id uuid;
ALTER TABLE audit_log ADD COLUMN person_business_id uuid;
CREATE INDEX audit_log_business_idx ON audit_log (business_id, id);
CREATE INDEX audit_log_person_idx ON audit_log (person_id, id);
