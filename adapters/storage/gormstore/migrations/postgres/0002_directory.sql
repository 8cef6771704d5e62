-- +goose Up
CREATE TABLE recipients (
    id             uuid NOT NULL,
    business_id    uuid NOT NULL REFERENCES businesses (id),
    environment    text NOT NULL CHECK (environment IN ('live', 'sandbox')),
    phone_number   text NOT NULL,
    name           text NOT NULL, -- empty: unknown
    search_text    text NOT NULL, -- name and phone number, case folded by the program
    address_count  integer NOT NULL CHECK (address_count BETWEEN 0 AND 200),
    created_at     timestamptz(3) NOT NULL,
    updated_at     timestamptz(3) NOT NULL,
    CONSTRAINT recipients_phone_number_key UNIQUE (business_id, environment, phone_number),
    -- The tenant is part of the key so that foreign keys carry it too: nothing
    -- can point at a recipient of another business or environment.
    CONSTRAINT recipients_pkey PRIMARY KEY (id, business_id, environment)
);
CREATE INDEX recipients_list_idx ON recipients (business_id, environment, created_at, id);

CREATE TABLE recipient_addresses (
    id              uuid NOT NULL,
    recipient_id    uuid NOT NULL,
    business_id     uuid NOT NULL,
    environment     text NOT NULL,
    label           text NOT NULL,
    address         text NOT NULL,
    match_key       text NOT NULL,
    match_hash      bytea NOT NULL, -- SHA-256 of match_key, which may be too long for an index
    latitude        double precision NOT NULL,
    longitude       double precision NOT NULL,
    municipality    text NOT NULL,
    delivery_notes  text NOT NULL,
    created_at      timestamptz(3) NOT NULL,
    CONSTRAINT recipient_addresses_match_key UNIQUE (recipient_id, match_hash),
    -- For the same reason: a delivery cannot name another recipient's address.
    CONSTRAINT recipient_addresses_pkey PRIMARY KEY (id, recipient_id),
    CONSTRAINT recipient_addresses_recipient_fkey FOREIGN KEY (recipient_id, business_id, environment)
        REFERENCES recipients (id, business_id, environment)
);

CREATE TABLE pickup_locations (
    id           uuid PRIMARY KEY,
    business_id  uuid NOT NULL REFERENCES businesses (id),
    environment  text NOT NULL CHECK (environment IN ('live', 'sandbox')),
    name         text NOT NULL,
    contact      text NOT NULL, -- empty: missing
    address      text NOT NULL,
    search_text  text NOT NULL, -- name and address, case folded by the program
    latitude     double precision,
    longitude    double precision,
    active       boolean NOT NULL,
    created_at   timestamptz(3) NOT NULL,
    updated_at   timestamptz(3) NOT NULL,
    CONSTRAINT pickup_locations_coordinates_check CHECK ((latitude IS NULL) = (longitude IS NULL))
);
CREATE INDEX pickup_locations_list_idx ON pickup_locations (business_id, environment, created_at, id);
