-- +goose Up

-- What people have to do something about, and what they look for it by. Each index has
-- all that a filter of the board asks for, so that rows which a filter leaves out are not
-- read.
CREATE INDEX deliveries_open_idx ON deliveries (environment, id, status, updated_at, business_id, application_id)
    WHERE status IN ('booked', 'assigned', 'picked_up', 'in_transit', 'outsourced');
CREATE INDEX deliveries_failed_idx ON deliveries (environment, updated_at, id, status, business_id, application_id)
    WHERE status = 'failed';
CREATE INDEX deliveries_phone_idx ON deliveries (recipient_phone, id);
