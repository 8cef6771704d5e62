-- +goose Up
CREATE TABLE recipients (
    id             TEXT NOT NULL,
    business_id    TEXT NOT NULL REFERENCES businesses (id),
    environment    TEXT NOT NULL CHECK (environment IN ('live', 'sandbox')),
    phone_number   TEXT NOT NULL,
    name           TEXT NOT NULL, -- empty: unknown
    search_text    TEXT NOT NULL, -- name and phone number, case folded by the program
    address_count  INTEGER NOT NULL CHECK (address_count BETWEEN 0 AND 200),
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL,
    CONSTRAINT recipients_phone_number_key UNIQUE (business_id, environment, phone_number),
    -- The tenant is part of the key so that foreign keys carry it too: nothing
    -- can point at a recipient of another business or environment.
    CONSTRAINT recipients_pkey PRIMARY KEY (id, business_id, environment)
) STRICT;
CREATE INDEX recipients_list_idx ON recipients (business_id, environment, created_at, id);

CREATE TABLE recipient_addresses (
    id              TEXT NOT NULL,
    recipient_id    TEXT NOT NULL,
    business_id     TEXT NOT NULL,
    environment     TEXT NOT NULL,
    label           TEXT NOT NULL,
    address         TEXT NOT NULL,
    match_key       TEXT NOT NULL,
    match_hash      BLOB NOT NULL, -- SHA-256 of match_key, which may be too long for an index
    latitude        REAL NOT NULL,
    longitude       REAL NOT NULL,
    municipality    TEXT NOT NULL,
    delivery_notes  TEXT NOT NULL,
    created_at      TEXT NOT NULL,
    CONSTRAINT recipient_addresses_match_key UNIQUE (recipient_id, match_hash),
    -- For the same reason: a delivery cannot name another recipient's address.
    CONSTRAINT recipient_addresses_pkey PRIMARY KEY (id, recipient_id),
    CONSTRAINT recipient_addresses_recipient_fkey FOREIGN KEY (recipient_id, business_id, environment)
        REFERENCES recipients (id, business_id, environment)
) STRICT;

CREATE TABLE pickup_locations (
    id           TEXT NOT NULL PRIMARY KEY,
    business_id  TEXT NOT NULL REFERENCES businesses (id),
    environment  TEXT NOT NULL CHECK (environment IN ('live', 'sandbox')),
    name         TEXT NOT NULL,
    contact      TEXT NOT NULL, -- empty: missing
    address      TEXT NOT NULL,
    search_text  TEXT NOT NULL, -- name and address, case folded by the program
    latitude     REAL,
    longitude    REAL,
    active       INTEGER NOT NULL,
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,
    CONSTRAINT pickup_locations_coordinates_check CHECK ((latitude IS NULL) = (longitude IS NULL))
) STRICT;
CREATE INDEX pickup_locations_list_idx ON pickup_locations (business_id, environment, created_at, id);
