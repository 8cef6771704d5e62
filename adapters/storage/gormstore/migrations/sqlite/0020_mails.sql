-- +goose Up

-- Mails to people, as they are to be sent: what they are about and not what they say.
CREATE TABLE mails (
    id           TEXT NOT NULL, -- from kind, cause and recipient
    kind         TEXT NOT NULL,
    cause        TEXT NOT NULL, -- the record that it comes from
    business_id  TEXT,
    person_id    TEXT, -- null: a link was asked for by address
    email        TEXT, -- by which, while the mail waits
    about        TEXT NOT NULL, -- a key or a webhook endpoint
    facts        TEXT NOT NULL, -- a JSON object of strings
    created_at   TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'given_up', 'dropped')),
    due_at       TEXT NOT NULL, -- a leased mail is due again when the lease ends
    expires_at   TEXT NOT NULL,
    attempts     INTEGER NOT NULL,
    settled_at   TEXT, -- null: it waits
    last_error   TEXT NOT NULL,
    CONSTRAINT mails_pkey PRIMARY KEY (id)
) STRICT;
CREATE INDEX mails_due_idx ON mails (due_at) WHERE state = 'waiting';
CREATE INDEX mails_settled_idx ON mails (settled_at) WHERE settled_at IS NOT NULL;

-- Browsers in which a person has signed in.
CREATE TABLE person_devices (
    person_id     TEXT NOT NULL REFERENCES persons (id),
    digest        BLOB NOT NULL CHECK (length(digest) = 32), -- of a secret in a cookie
    created_at    TEXT NOT NULL,
    last_seen_at  TEXT NOT NULL,
    CONSTRAINT person_devices_pkey PRIMARY KEY (person_id, digest)
) STRICT;
CREATE INDEX person_devices_seen_idx ON person_devices (last_seen_at);

-- Keys of which people are told that they expire soon.
CREATE INDEX api_keys_expiry_idx ON api_keys (expires_at) WHERE expires_at IS NOT NULL AND revoked_at IS NULL;
