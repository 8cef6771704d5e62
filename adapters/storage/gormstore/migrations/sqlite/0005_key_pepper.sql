-- +goose Up

-- What tells the pepper of the API keys from any other one. One row at most.
CREATE TABLE key_pepper (
    id    INTEGER NOT NULL CHECK (id = 1),
    mark  BLOB NOT NULL CHECK (length(mark) = 32),
    CONSTRAINT key_pepper_pkey PRIMARY KEY (id)
) STRICT;
