-- +goose Up

-- A delivery row holds all that the public delivery shows, as it was booked:
-- reading one needs no join, and renaming a recipient changes no delivery.
CREATE TABLE deliveries (
    id                     TEXT NOT NULL PRIMARY KEY,
    application_id         TEXT NOT NULL,
    business_id            TEXT NOT NULL,
    environment            TEXT NOT NULL CHECK (environment IN ('live', 'sandbox')),
    reference              TEXT NOT NULL,
    external_id            TEXT, -- null: none
    recipient_id           TEXT NOT NULL,
    recipient_name         TEXT NOT NULL,
    recipient_phone        TEXT NOT NULL,
    pickup_name            TEXT NOT NULL,
    pickup_contact         TEXT NOT NULL,
    pickup_address         TEXT NOT NULL,
    pickup_latitude        REAL NOT NULL,
    pickup_longitude       REAL NOT NULL,
    dropoff_id             TEXT NOT NULL,
    dropoff_address        TEXT NOT NULL,
    dropoff_latitude       REAL NOT NULL,
    dropoff_longitude      REAL NOT NULL,
    dropoff_label          TEXT NOT NULL,
    dropoff_municipality   TEXT NOT NULL,
    dropoff_notes          TEXT NOT NULL,
    payment_type           TEXT NOT NULL,
    goods_value_minor      INTEGER,
    vehicle_type           TEXT NOT NULL,
    currency               TEXT NOT NULL, -- of every amount in the row
    delivery_fee_minor     INTEGER CHECK (delivery_fee_minor >= 0),
    requires_custom_quote  INTEGER NOT NULL,
    distance_km            REAL NOT NULL,
    distance_source        TEXT NOT NULL,
    instructions           TEXT NOT NULL,
    status                 TEXT NOT NULL,
    last_sequence          INTEGER NOT NULL CHECK (last_sequence > 0),
    picked_up_at           TEXT,
    created_at             TEXT NOT NULL,
    updated_at             TEXT NOT NULL,
    CONSTRAINT deliveries_reference_key UNIQUE (reference),
    CONSTRAINT deliveries_external_id_key UNIQUE (application_id, environment, external_id),
    CONSTRAINT deliveries_application_fkey FOREIGN KEY (application_id, business_id)
        REFERENCES applications (id, business_id),
    CONSTRAINT deliveries_recipient_fkey FOREIGN KEY (recipient_id, business_id, environment)
        REFERENCES recipients (id, business_id, environment),
    CONSTRAINT deliveries_dropoff_fkey FOREIGN KEY (dropoff_id, recipient_id)
        REFERENCES recipient_addresses (id, recipient_id)
) STRICT;
CREATE INDEX deliveries_list_idx ON deliveries (application_id, environment, created_at, id);
CREATE INDEX deliveries_status_idx ON deliveries (application_id, environment, status, created_at, id);

CREATE TABLE delivery_events (
    id               TEXT NOT NULL PRIMARY KEY,
    delivery_id      TEXT NOT NULL REFERENCES deliveries (id),
    sequence         INTEGER NOT NULL CHECK (sequence > 0),
    type             TEXT NOT NULL,
    status           TEXT NOT NULL,
    previous_status  TEXT NOT NULL, -- empty on the first event
    reason_code      TEXT NOT NULL, -- empty: none
    occurred_at      TEXT NOT NULL,
    CONSTRAINT delivery_events_sequence_key UNIQUE (delivery_id, sequence)
) STRICT;
