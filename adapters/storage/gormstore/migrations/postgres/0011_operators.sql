-- +goose Up

-- Who may use the operations API.
CREATE TABLE operator_tokens (
    id            uuid PRIMARY KEY,
    name          text NOT NULL,
    digest        bytea NOT NULL CHECK (octet_length(digest) = 32),
    last_four     text NOT NULL,
    created_at    timestamptz(3) NOT NULL,
    expires_at    timestamptz(3),
    revoked_at    timestamptz(3),
    last_used_at  timestamptz(3),
    CONSTRAINT operator_tokens_digest_key UNIQUE (digest)
);

-- What operators did. A row is written together with the change it tells of,
-- and neither changed nor removed afterwards.
CREATE TABLE audit_log (
    id             uuid PRIMARY KEY,
    at             timestamptz(3) NOT NULL,
    operator_id    uuid, -- null: a command, without a token
    operator_name  text NOT NULL,
    action         text NOT NULL,
    target         text NOT NULL, -- with its prefix
    business_id    uuid, -- null: of none
    details        text NOT NULL, -- a JSON object of strings
    request_id     text NOT NULL -- empty: not by a request
);
CREATE INDEX audit_log_target_idx ON audit_log (target, id);
CREATE INDEX audit_log_operator_idx ON audit_log (operator_id, id);
