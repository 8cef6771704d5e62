-- +goose Up
CREATE TABLE businesses (
    id              TEXT NOT NULL PRIMARY KEY,
    name            TEXT NOT NULL,
    rate_limit      INTEGER CHECK (rate_limit > 0),
    rate_window_ns  INTEGER CHECK (rate_window_ns > 0),
    created_at      TEXT NOT NULL,
    CONSTRAINT businesses_rate_check CHECK ((rate_limit IS NULL) = (rate_window_ns IS NULL))
) STRICT;

CREATE TABLE applications (
    id           TEXT NOT NULL PRIMARY KEY,
    business_id  TEXT NOT NULL REFERENCES businesses (id),
    name         TEXT NOT NULL,
    disabled     INTEGER NOT NULL,
    created_at   TEXT NOT NULL,
    -- Lets a delivery prove by foreign key that its application is of its business.
    CONSTRAINT applications_tenant_key UNIQUE (id, business_id)
) STRICT;
CREATE INDEX applications_business_idx ON applications (business_id, created_at, id);

CREATE TABLE api_keys (
    id              TEXT NOT NULL PRIMARY KEY,
    application_id  TEXT NOT NULL REFERENCES applications (id),
    environment     TEXT NOT NULL CHECK (environment IN ('live', 'sandbox')),
    digest          BLOB NOT NULL CHECK (length(digest) = 32),
    last_four       TEXT NOT NULL,
    scopes          TEXT NOT NULL, -- comma-separated
    created_at      TEXT NOT NULL,
    expires_at      TEXT,
    revoked_at      TEXT,
    CONSTRAINT api_keys_digest_key UNIQUE (digest)
) STRICT;
CREATE INDEX api_keys_application_idx ON api_keys (application_id, created_at, id);
