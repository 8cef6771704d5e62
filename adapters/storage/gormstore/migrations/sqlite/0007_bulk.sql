-- +goose Up

-- Both are set while a bulk is under way, and null on every other record.
ALTER TABLE idempotency_keys ADD COLUMN lease_token TEXT;
ALTER TABLE idempotency_keys ADD COLUMN leased_until TEXT;

-- Outcomes of the items of bulks that are not finished; finishing one removes
-- them. So the table stays small, and what an abandoned bulk left in it is
-- found without an index.
CREATE TABLE bulk_items (
    claim_id    TEXT NOT NULL,
    item_index  INTEGER NOT NULL CHECK (item_index BETWEEN 0 AND 99),
    created     INTEGER NOT NULL CHECK (created IN (0, 1)),
    result      BLOB NOT NULL,
    expires_at  TEXT NOT NULL,
    CONSTRAINT bulk_items_pkey PRIMARY KEY (claim_id, item_index)
) STRICT;
