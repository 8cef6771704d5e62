-- +goose Up

-- Accounts of the company's identity provider that let persons in.
CREATE TABLE person_identities (
    issuer      TEXT NOT NULL,
    subject     TEXT NOT NULL, -- as the provider names the account
    person_id   TEXT NOT NULL REFERENCES persons (id),
    created_at  TEXT NOT NULL,
    CONSTRAINT person_identities_pkey PRIMARY KEY (issuer, subject)
) STRICT;
CREATE INDEX person_identities_person_idx ON person_identities (person_id);

-- A browser that is away at the provider is a challenge too. What waits here for
-- minutes at most is not kept.
DROP TABLE passkey_ceremonies;
CREATE TABLE passkey_ceremonies (
    id          TEXT NOT NULL,
    purpose     TEXT NOT NULL CHECK (purpose IN ('add', 'sign_in', 'confirm', 'oidc_sign_in', 'oidc_confirm', 'oidc_connect')),
    session_id  TEXT, -- null: a browser without a session
    challenge   BLOB NOT NULL CHECK (length(challenge) = 32),
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    CONSTRAINT passkey_ceremonies_pkey PRIMARY KEY (id)
) STRICT;
CREATE INDEX passkey_ceremonies_expiry_idx ON passkey_ceremonies (expires_at);
