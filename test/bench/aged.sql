-- Stores $1 events with a webhook that was sent once, as if each were older than
-- they are kept: copies of the last one that was sent, with IDs of $3 ago. $2 is
-- how many there were before.
WITH template AS MATERIALIZED (
    SELECT to_jsonb(f) AS event, to_jsonb(w) AS webhook, to_jsonb(a) AS attempt, right(w.id::text, 1) AS slot
    FROM webhook_deliveries w
    JOIN feed_events f ON f.id = w.event_id
    JOIN webhook_attempts a ON a.webhook_delivery_id = w.id AND a.number = 1
    WHERE w.status = 'succeeded'
    ORDER BY w.id DESC LIMIT 1
), numbered AS MATERIALIZED (
    SELECT t.*, lpad(to_hex((extract(epoch FROM now() - $3::interval) * 1000)::bigint), 12, '0')
        || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex(n), 14, '0') AS hex
    FROM template t, generate_series($2::bigint + 1, $2::bigint + $1::bigint) AS n
), events AS (
    INSERT INTO feed_events SELECT e.* FROM numbered,
        jsonb_populate_record(NULL::feed_events, event || jsonb_build_object('id', hex || '0', 'delivery_id', hex || '0')) AS e
), attempts AS (
    INSERT INTO webhook_attempts SELECT a.* FROM numbered,
        jsonb_populate_record(NULL::webhook_attempts, attempt || jsonb_build_object('id', hex || slot, 'webhook_delivery_id', hex || slot)) AS a
)
INSERT INTO webhook_deliveries SELECT w.* FROM numbered,
    jsonb_populate_record(NULL::webhook_deliveries, webhook || jsonb_build_object('id', hex || slot, 'event_id', hex || '0', 'delivery_id', hex || '0')) AS w
