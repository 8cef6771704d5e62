-- +goose Up

-- What a token opens. Tokens from before there were kinds open everything.
ALTER TABLE operator_tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'admin'
    CHECK (kind IN ('admin', 'dispatcher', 'read-only'));

-- The marks of all peppers that digests were made under, oldest first, so that
-- the pepper can be changed.
CREATE TABLE key_peppers (
    id    INTEGER NOT NULL CHECK (id > 0),
    mark  BLOB NOT NULL CHECK (length(mark) = 32),
    CONSTRAINT key_pepper_pkey PRIMARY KEY (id),
    CONSTRAINT key_pepper_mark_key UNIQUE (mark)
) STRICT;
INSERT INTO key_peppers (id, mark) SELECT id, mark FROM key_pepper;
DROP TABLE key_pepper;
ALTER TABLE key_peppers RENAME TO key_pepper;

-- The mark of the pepper of the digest; null: the oldest one.
ALTER TABLE api_keys ADD COLUMN pepper BLOB CHECK (length(pepper) = 32);
ALTER TABLE operator_tokens ADD COLUMN pepper BLOB CHECK (length(pepper) = 32);

-- A name of the installation for the processes beside each other, made at random.
CREATE TABLE installation (
    id    INTEGER NOT NULL CHECK (id = 1),
    name  TEXT NOT NULL,
    CONSTRAINT installation_pkey PRIMARY KEY (id)
) STRICT;
INSERT INTO installation (id, name) VALUES (1, lower(hex(randomblob(16))));
