-- +goose Up
CREATE TABLE businesses (
    id              uuid PRIMARY KEY,
    name            text NOT NULL,
    rate_limit      integer CHECK (rate_limit > 0),
    rate_window_ns  bigint CHECK (rate_window_ns > 0),
    created_at      timestamptz(3) NOT NULL,
    CONSTRAINT businesses_rate_check CHECK ((rate_limit IS NULL) = (rate_window_ns IS NULL))
);

CREATE TABLE applications (
    id           uuid PRIMARY KEY,
    business_id  uuid NOT NULL REFERENCES businesses (id),
    name         text NOT NULL,
    disabled     boolean NOT NULL,
    created_at   timestamptz(3) NOT NULL,
    -- Lets a delivery prove by foreign key that its application is of its business.
    CONSTRAINT applications_tenant_key UNIQUE (id, business_id)
);
CREATE INDEX applications_business_idx ON applications (business_id, created_at, id);

CREATE TABLE api_keys (
    id              uuid PRIMARY KEY,
    application_id  uuid NOT NULL REFERENCES applications (id),
    environment     text NOT NULL CHECK (environment IN ('live', 'sandbox')),
    digest          bytea NOT NULL CHECK (octet_length(digest) = 32),
    last_four       text NOT NULL,
    scopes          text NOT NULL, -- comma-separated
    created_at      timestamptz(3) NOT NULL,
    expires_at      timestamptz(3),
    revoked_at      timestamptz(3),
    CONSTRAINT api_keys_digest_key UNIQUE (digest)
);
CREATE INDEX api_keys_application_idx ON api_keys (application_id, created_at, id);
