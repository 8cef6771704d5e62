-- +goose Up

-- Who may use the operations API.
CREATE TABLE operator_tokens (
    id            TEXT NOT NULL PRIMARY KEY,
    name          TEXT NOT NULL,
    digest        BLOB NOT NULL CHECK (length(digest) = 32),
    last_four     TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    expires_at    TEXT,
    revoked_at    TEXT,
    last_used_at  TEXT,
    CONSTRAINT operator_tokens_digest_key UNIQUE (digest)
) STRICT;

-- What operators did. A row is written together with the change it tells of,
-- and neither changed nor removed afterwards.
CREATE TABLE audit_log (
    id             TEXT NOT NULL PRIMARY KEY,
    at             TEXT NOT NULL,
    operator_id    TEXT, -- null: a command, without a token
    operator_name  TEXT NOT NULL,
    action         TEXT NOT NULL,
    target         TEXT NOT NULL, -- with its prefix
    business_id    TEXT, -- null: of none
    details        TEXT NOT NULL, -- a JSON object of strings
    request_id     TEXT NOT NULL -- empty: not by a request
) STRICT;
CREATE INDEX audit_log_target_idx ON audit_log (target, id);
CREATE INDEX audit_log_operator_idx ON audit_log (operator_id, id);
