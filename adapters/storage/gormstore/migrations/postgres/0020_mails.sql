-- +goose Up

-- Mails to people, as they are to be sent: what they are about and not what they say.
CREATE TABLE mails (
    id           uuid NOT NULL, -- from kind, cause and recipient
    kind         text NOT NULL,
    cause        text NOT NULL, -- the record that it comes from
    business_id  uuid,
    person_id    uuid, -- null: a link was asked for by address
    email        text, -- by which, while the mail waits
    about        text NOT NULL, -- a key or a webhook endpoint
    facts        text NOT NULL, -- a JSON object of strings
    created_at   timestamptz(3) NOT NULL,
    state        text NOT NULL CONSTRAINT mails_state_check CHECK (state IN ('waiting', 'sent', 'given_up', 'dropped')),
    due_at       timestamptz(3) NOT NULL, -- a leased mail is due again when the lease ends
    expires_at   timestamptz(3) NOT NULL,
    attempts     integer NOT NULL,
    settled_at   timestamptz(3), -- null: it waits
    last_error   text NOT NULL,
    CONSTRAINT mails_pkey PRIMARY KEY (id)
);
CREATE INDEX mails_due_idx ON mails (due_at) WHERE state = 'waiting';
CREATE INDEX mails_settled_idx ON mails (settled_at) WHERE settled_at IS NOT NULL;

-- Browsers in which a person has signed in.
CREATE TABLE person_devices (
    person_id     uuid NOT NULL REFERENCES persons (id),
    digest        bytea NOT NULL CHECK (octet_length(digest) = 32), -- of a secret in a cookie
    created_at    timestamptz(3) NOT NULL,
    last_seen_at  timestamptz(3) NOT NULL,
    CONSTRAINT person_devices_pkey PRIMARY KEY (person_id, digest)
);
CREATE INDEX person_devices_seen_idx ON person_devices (last_seen_at);

-- Keys of which people are told that they expire soon.
CREATE INDEX api_keys_expiry_idx ON api_keys (expires_at) WHERE expires_at IS NOT NULL AND revoked_at IS NULL;
