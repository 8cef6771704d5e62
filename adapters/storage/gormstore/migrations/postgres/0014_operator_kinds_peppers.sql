-- +goose Up

-- What a token opens. Tokens from before there were kinds open everything.
ALTER TABLE operator_tokens ADD COLUMN kind text NOT NULL DEFAULT 'admin'
    CONSTRAINT operator_tokens_kind_check CHECK (kind IN ('admin', 'dispatcher', 'read-only'));

-- The marks of all peppers that digests were made under, oldest first, so that
-- the pepper can be changed.
ALTER TABLE key_pepper DROP CONSTRAINT key_pepper_id_check;
ALTER TABLE key_pepper ADD CONSTRAINT key_pepper_id_check CHECK (id > 0);
ALTER TABLE key_pepper ADD CONSTRAINT key_pepper_mark_key UNIQUE (mark);

-- The mark of the pepper of the digest; null: the oldest one.
ALTER TABLE api_keys ADD COLUMN pepper bytea CHECK (octet_length(pepper) = 32);
ALTER TABLE operator_tokens ADD COLUMN pepper bytea CHECK (octet_length(pepper) = 32);

-- A name of the installation for the processes beside each other, made at random.
CREATE TABLE installation (
    id    smallint NOT NULL CHECK (id = 1),
    name  text NOT NULL,
    CONSTRAINT installation_pkey PRIMARY KEY (id)
);
INSERT INTO installation (id, name) VALUES (1, replace(gen_random_uuid()::text, '-', ''));
