-- +goose Up

-- The public halves of keys that devices of people keep.
CREATE TABLE passkeys (
    id             uuid NOT NULL,
    person_id      uuid NOT NULL REFERENCES persons (id),
    name           text NOT NULL,
    host           text NOT NULL, -- of the page it was made at
    credential_id  bytea NOT NULL CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
    public_key     bytea NOT NULL, -- COSE
    sign_count     bigint NOT NULL,
    syncs          boolean NOT NULL, -- may be copied to other devices of the person
    created_at     timestamptz(3) NOT NULL,
    last_used_at   timestamptz(3),
    CONSTRAINT passkeys_pkey PRIMARY KEY (id),
    CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id)
);
CREATE INDEX passkeys_person_idx ON passkeys (person_id, created_at, id);

-- Challenges that browsers were given and that were not answered yet.
CREATE TABLE passkey_ceremonies (
    id          uuid NOT NULL,
    purpose     text NOT NULL CONSTRAINT passkey_ceremonies_purpose_check CHECK (purpose IN ('add', 'sign_in', 'confirm')),
    session_id  uuid, -- null: a browser without a session
    challenge   bytea NOT NULL CHECK (octet_length(challenge) = 32),
    created_at  timestamptz(3) NOT NULL,
    expires_at  timestamptz(3) NOT NULL,
    CONSTRAINT passkey_ceremonies_pkey PRIMARY KEY (id)
);
CREATE INDEX passkey_ceremonies_expiry_idx ON passkey_ceremonies (expires_at);
