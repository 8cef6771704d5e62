-- +goose Up

-- Both are set while a bulk is under way, and null on every other record.
ALTER TABLE idempotency_keys
    ADD COLUMN lease_token   uuid,
    ADD COLUMN leased_until  timestamptz(3);

-- Outcomes of the items of bulks that are not finished; finishing one removes
-- them. So the table stays small, and what an abandoned bulk left in it is
-- found without an index.
CREATE TABLE bulk_items (
    claim_id    uuid NOT NULL,
    item_index  smallint NOT NULL CHECK (item_index BETWEEN 0 AND 99),
    created     boolean NOT NULL,
    result      bytea NOT NULL,
    expires_at  timestamptz(3) NOT NULL,
    CONSTRAINT bulk_items_pkey PRIMARY KEY (claim_id, item_index)
);
