-- Whether the tracking pages of a business show recipients how much cash to have ready.
-- +goose Up
ALTER TABLE businesses ADD COLUMN tracking_cash INTEGER NOT NULL DEFAULT 0;
