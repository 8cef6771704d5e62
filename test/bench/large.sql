-- What deliveries leave besides, as it is kept by default: their events for good, the feed and webhooks for
-- 30 days, requests for 3, the keys of creates for a day. All is made of the rows that the first create left.

-- An ID of the same moment.
CREATE FUNCTION pg_temp.beside(delivery uuid, kind text) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT overlay(delivery::text PLACING kind FROM 20 FOR 4)::uuid
$$;

CREATE TEMP VIEW moves AS
SELECT d.*, n AS sequence, d.created_at + (n - 1) * interval '10 minutes' AS at,
    'delivery.' || (ARRAY['created', 'assigned', 'picked_up', 'in_transit', 'delivered'])[n] AS type,
    (ARRAY['booked', 'assigned', 'picked_up', 'in_transit', 'delivered'])[n] AS becomes,
    (ARRAY['', 'booked', 'assigned', 'picked_up', 'in_transit'])[n] AS was
FROM deliveries d, generate_series(1, d.last_sequence) AS n
WHERE d.external_id LIKE 'filled-%';

INSERT INTO delivery_events (id, business_id, delivery_id, sequence, type, status, previous_status, reason_code, occurred_at)
SELECT pg_temp.beside(id, '81' || to_char(sequence, 'FM00')), business_id, id, sequence, type, becomes, was, '', at FROM moves;

CREATE TEMP TABLE first AS SELECT nextval('feed_positions') AS position;

INSERT INTO feed_events (id, business_id, application_id, environment, delivery_id, sequence, type, occurred_at, position, payload)
SELECT pg_temp.beside(m.id, '82' || to_char(m.sequence, 'FM00')), m.business_id, m.application_id, m.environment, m.id, m.sequence, m.type, m.at,
    first.position + row_number() OVER (), e.payload
FROM moves m, first, (SELECT payload FROM feed_events LIMIT 1) e
WHERE m.created_at > now() - interval '30 days';

SELECT setval('feed_positions', (SELECT max(position) FROM feed_events));

INSERT INTO webhook_deliveries (id, business_id, endpoint_id, event_id, event_type, delivery_id, sequence, status, attempts, used, trigger, back, created_at)
SELECT pg_temp.beside(m.id, '83' || to_char(m.sequence, 'FM00')), m.business_id, w.endpoint_id, pg_temp.beside(m.id, '82' || to_char(m.sequence, 'FM00')),
    m.type, m.id, m.sequence, 'succeeded', 1, 1, w.trigger, w.back, m.at
FROM moves m, (SELECT * FROM webhook_deliveries LIMIT 1) w
WHERE m.created_at > now() - interval '30 days';

INSERT INTO webhook_attempts (id, business_id, webhook_delivery_id, number, trigger, status_code, error_class, duration_ms, excerpt, started_at)
SELECT id, business_id, id, 1, trigger, 200, '', 25, '', created_at FROM webhook_deliveries WHERE status = 'succeeded';

INSERT INTO idempotency_keys (application_id, business_id, environment, key, fingerprint, claim_id, status, location, body, created_at, expires_at)
SELECT d.application_id, d.business_id, d.environment, md5(d.id::text), k.fingerprint, d.id, k.status, k.location, k.body, d.created_at,
    d.created_at + interval '1 day'
FROM deliveries d, (SELECT * FROM idempotency_keys WHERE key LIKE 'bench-order-%') k
WHERE d.created_at > now() - interval '1 day' AND d.external_id LIKE 'filled-%';

-- A partition a day, as the program makes them. Of each delivery there are a create and a get.
DO $$
DECLARE
    today timestamptz := date_trunc('day', now(), 'UTC');
    part text;
BEGIN
    FOR back IN 0..2 LOOP
        part := 'request_successes_' || to_char((today - back * interval '1 day') AT TIME ZONE 'UTC', 'YYYYMMDD');
        EXECUTE format('DROP TABLE IF EXISTS %I', part);
        EXECUTE format('CREATE TABLE %I PARTITION OF request_successes FOR VALUES FROM (%L) TO (%L)', part,
            rpad(lpad(to_hex((extract(epoch FROM today - back * interval '1 day') * 1000)::bigint), 12, '0'), 32, '0')::uuid,
            rpad(lpad(to_hex((extract(epoch FROM today + (1 - back) * interval '1 day') * 1000)::bigint), 12, '0'), 32, '0')::uuid);
    END LOOP;
    INSERT INTO request_successes (id, client_id, environment, business_id, application_id, key_id, route, delivery_id, status, code, fields,
        took_us, replayed, network, agent, weight)
    SELECT pg_temp.beside(d.id, CASE made WHEN 1 THEN '8401' ELSE '8402' END), '', d.environment, d.business_id, d.application_id, d.application_id,
        CASE made WHEN 1 THEN 'POST /v1/deliveries' ELSE 'GET /v1/deliveries/{delivery_id}' END, d.id, CASE made WHEN 1 THEN 201 ELSE 200 END, '', '',
        12345, false, '198.51.100.0/24', 'shop/1.2 (bench)', 1
    FROM deliveries d, generate_series(1, 2) AS made
    WHERE d.created_at >= today - interval '2 days' AND d.created_at < today + interval '1 day' AND d.external_id LIKE 'filled-%';
END
$$;
