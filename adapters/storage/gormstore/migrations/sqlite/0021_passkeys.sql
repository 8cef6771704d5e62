-- +goose Up

-- The public halves of keys that devices of people keep.
CREATE TABLE passkeys (
    id             TEXT NOT NULL,
    person_id      TEXT NOT NULL REFERENCES persons (id),
    name           TEXT NOT NULL,
    host           TEXT NOT NULL, -- of the page it was made at
    credential_id  BLOB NOT NULL CHECK (length(credential_id) BETWEEN 1 AND 1023),
    public_key     BLOB NOT NULL, -- COSE
    sign_count     INTEGER NOT NULL,
    syncs          INTEGER NOT NULL, -- may be copied to other devices of the person
    created_at     TEXT NOT NULL,
    last_used_at   TEXT,
    CONSTRAINT passkeys_pkey PRIMARY KEY (id),
    CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id)
) STRICT;
CREATE INDEX passkeys_person_idx ON passkeys (person_id, created_at, id);

-- Challenges that browsers were given and that were not answered yet.
CREATE TABLE passkey_ceremonies (
    id          TEXT NOT NULL,
    purpose     TEXT NOT NULL CHECK (purpose IN ('add', 'sign_in', 'confirm')),
    session_id  TEXT, -- null: a browser without a session
    challenge   BLOB NOT NULL CHECK (length(challenge) = 32),
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    CONSTRAINT passkey_ceremonies_pkey PRIMARY KEY (id)
) STRICT;
CREATE INDEX passkey_ceremonies_expiry_idx ON passkey_ceremonies (expires_at);
