-- +goose Up

-- Something sealed under the key that the signing secrets are sealed under: who
-- cannot open it has another key. One row at most.
CREATE TABLE secret_key_check (
    id      INTEGER NOT NULL CHECK (id = 1),
    sealed  BLOB NOT NULL,
    CONSTRAINT secret_key_check_pkey PRIMARY KEY (id)
) STRICT;
