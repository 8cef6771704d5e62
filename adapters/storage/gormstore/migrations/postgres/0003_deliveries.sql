-- +goose Up

-- A delivery row holds all that the public delivery shows, as it was booked:
-- reading one needs no join, and renaming a recipient changes no delivery.
CREATE TABLE deliveries (
    id                     uuid PRIMARY KEY,
    application_id         uuid NOT NULL,
    business_id            uuid NOT NULL,
    environment            text NOT NULL CHECK (environment IN ('live', 'sandbox')),
    reference              text NOT NULL,
    external_id            text, -- null: none
    recipient_id           uuid NOT NULL,
    recipient_name         text NOT NULL,
    recipient_phone        text NOT NULL,
    pickup_name            text NOT NULL,
    pickup_contact         text NOT NULL,
    pickup_address         text NOT NULL,
    pickup_latitude        double precision NOT NULL,
    pickup_longitude       double precision NOT NULL,
    dropoff_id             uuid NOT NULL,
    dropoff_address        text NOT NULL,
    dropoff_latitude       double precision NOT NULL,
    dropoff_longitude      double precision NOT NULL,
    dropoff_label          text NOT NULL,
    dropoff_municipality   text NOT NULL,
    dropoff_notes          text NOT NULL,
    payment_type           text NOT NULL,
    goods_value_minor      bigint,
    vehicle_type           text NOT NULL,
    currency               text NOT NULL, -- of every amount in the row
    delivery_fee_minor     bigint CHECK (delivery_fee_minor >= 0),
    requires_custom_quote  boolean NOT NULL,
    distance_km            double precision NOT NULL,
    distance_source        text NOT NULL,
    instructions           text NOT NULL,
    status                 text NOT NULL,
    last_sequence          integer NOT NULL CHECK (last_sequence > 0),
    picked_up_at           timestamptz(3),
    created_at             timestamptz(3) NOT NULL,
    updated_at             timestamptz(3) NOT NULL,
    CONSTRAINT deliveries_reference_key UNIQUE (reference),
    CONSTRAINT deliveries_external_id_key UNIQUE (application_id, environment, external_id),
    CONSTRAINT deliveries_application_fkey FOREIGN KEY (application_id, business_id)
        REFERENCES applications (id, business_id),
    CONSTRAINT deliveries_recipient_fkey FOREIGN KEY (recipient_id, business_id, environment)
        REFERENCES recipients (id, business_id, environment),
    CONSTRAINT deliveries_dropoff_fkey FOREIGN KEY (dropoff_id, recipient_id)
        REFERENCES recipient_addresses (id, recipient_id)
);
CREATE INDEX deliveries_list_idx ON deliveries (application_id, environment, created_at, id);
CREATE INDEX deliveries_status_idx ON deliveries (application_id, environment, status, created_at, id);

CREATE TABLE delivery_events (
    id               uuid PRIMARY KEY,
    delivery_id      uuid NOT NULL REFERENCES deliveries (id),
    sequence         integer NOT NULL CHECK (sequence > 0),
    type             text NOT NULL,
    status           text NOT NULL,
    previous_status  text NOT NULL, -- empty on the first event
    reason_code      text NOT NULL, -- empty: none
    occurred_at      timestamptz(3) NOT NULL,
    CONSTRAINT delivery_events_sequence_key UNIQUE (delivery_id, sequence)
);
