-- Makes of the one webhook that each of the endpoints $1 has had $2 each that are
-- due: events from the last $3 on, evenly, and the payload but for its ID and the
-- order's number, $4, which is 0. With $5 each was sent once, in vain.
WITH template AS (
    SELECT e.id AS endpoint_id, to_hex(e.slot::integer) AS slot, row_number() OVER (ORDER BY e.id) AS place, count(*) OVER () AS places,
        f.application_id, f.environment, f.sequence, f.type,
        position('"evt_'::bytea IN f.payload) + 5 AS id_at,
        overlay(f.payload PLACING '0000000'::bytea FROM position(convert_to($4, 'UTF8') IN f.payload) + length($4)) AS payload
    FROM webhook_endpoints e JOIN webhook_deliveries w ON w.endpoint_id = e.id JOIN feed_events f ON f.id = w.event_id
    WHERE e.id = ANY ($1::uuid[])
), numbered AS (
    SELECT t.endpoint_id, t.slot, n, date_trunc('milliseconds', now() - $3::interval * (1 - (n - 1.0) / ($2 * t.places))) AS made
    FROM template t, LATERAL generate_series(t.place, $2::bigint * t.places, t.places) AS n
), inserted AS MATERIALIZED (
    -- Hexadecimal digits as of a UUIDv7; the last one is the slot.
    SELECT endpoint_id, slot, made, lpad(to_hex((extract(epoch FROM made) * 1000)::bigint), 12, '0')
        || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex(n), 14, '0') AS hex
    FROM numbered ORDER BY n
), events AS (
    INSERT INTO feed_events (id, application_id, environment, delivery_id, sequence, type, occurred_at, payload, position)
    SELECT (p.hex || '0')::uuid, t.application_id, t.environment, (p.hex || '0')::uuid, t.sequence, t.type, p.made,
        overlay(t.payload PLACING convert_to(p.hex || '0', 'UTF8') FROM t.id_at),
        (SELECT nextval('feed_positions') FROM (SELECT pg_advisory_xact_lock_shared(2002937444, ((last_value & 4294967295) - 2147483648)::integer) FROM feed_positions OFFSET 0) AS held)
    FROM inserted p JOIN template t USING (endpoint_id)
), attempts AS (
    INSERT INTO webhook_attempts (id, webhook_delivery_id, number, trigger, status_code, error_class, duration_ms, excerpt, started_at, next_at)
    SELECT (p.hex || p.slot)::uuid, (p.hex || p.slot)::uuid, 1, 'schedule', 503, 'http_5xx', 5, 'Service Unavailable', p.made, now()
    FROM inserted p WHERE $5
)
INSERT INTO webhook_deliveries (id, endpoint_id, event_id, event_type, delivery_id, sequence, status, attempts, used, due_at, trigger, back, created_at)
SELECT (p.hex || p.slot)::uuid, p.endpoint_id, (p.hex || '0')::uuid, t.type, (p.hex || '0')::uuid, t.sequence, 'pending',
    CASE WHEN $5 THEN 1 ELSE 0 END, CASE WHEN $5 THEN 1 ELSE 0 END, CASE WHEN $5 THEN now() ELSE p.made END, 'schedule', '', p.made
FROM inserted p JOIN template t USING (endpoint_id)
