-- Stores $1 webhooks that were sent once, with their events, as old as webhooks are kept or
-- older, all within 20 hours: they end an hour before that. As many idempotency keys have
-- expired.
WITH old AS MATERIALIZED (
    SELECT n, CAST(lpad(to_hex(CAST(extract(epoch FROM now() - interval '30 days 21 hours' + n * interval '20 hours' / $1) * 1000
        AS bigint)), 12, '0') || '70008' || lpad(to_hex(n), 14, '0') || '0' AS uuid) AS id, business_id, id AS application_id
    FROM applications, generate_series(1, $1::integer) AS n
    WHERE applications.id = (SELECT id FROM applications LIMIT 1)
), events AS (
    INSERT INTO feed_events (id, business_id, application_id, environment, delivery_id, sequence, type, occurred_at, position, payload)
    SELECT id, business_id, application_id, 'live', id, 1, 'delivery.created', now(), nextval('feed_positions'),
        decode((SELECT string_agg(md5(id::text || part), '') FROM generate_series(1, 80) AS part), 'hex') FROM old
), attempts AS (
    INSERT INTO webhook_attempts (id, business_id, webhook_delivery_id, number, trigger, status_code, error_class, duration_ms,
        excerpt, started_at)
    SELECT id, business_id, id, 1, 'schedule', 200, '', 12, '', now() FROM old
), keys AS (
    INSERT INTO idempotency_keys (business_id, application_id, environment, key, fingerprint, claim_id, status, location, body,
        created_at, expires_at)
    SELECT business_id, application_id, 'live', 'old-' || n, decode(md5(id::text) || md5(id::text), 'hex'), id, 201, '',
        decode((SELECT string_agg(md5(id::text || part), '') FROM generate_series(1, 80) AS part), 'hex'), now(), now() FROM old
)
INSERT INTO webhook_deliveries (id, business_id, endpoint_id, event_id, event_type, delivery_id, sequence, status, attempts, used,
    trigger, back, created_at)
SELECT id, business_id, application_id, id, 'delivery.created', id, 1, 'succeeded', 1, 1, 'schedule', '', now() FROM old
