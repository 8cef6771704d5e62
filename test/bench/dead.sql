-- Leaves of $2 webhooks, each of them sent to the first endpoint of the application with
-- the inbox $1, what sending leaves: due evenly over a time of $3 that ended $5 ago, and
-- numbered from $4 on. Whoever holds a snapshot since before keeps it.
WITH endpoint AS (
    SELECT id, to_hex(slot::integer) AS slot FROM webhook_endpoints WHERE url = $1 AND slot IS NOT NULL
), numbered AS (
    SELECT n, date_trunc('milliseconds', now() - $5::interval - $3::interval * (1 - n::float8 / $2)) AS made FROM generate_series(1, $2::bigint) AS n
)
INSERT INTO webhook_deliveries (id, endpoint_id, event_id, event_type, delivery_id, sequence, status, attempts, used, due_at, trigger, back, created_at)
SELECT (hex || slot)::uuid, id, (hex || '0')::uuid, 'delivery.created', (hex || '0')::uuid, 1, 'pending', 0, 0, made, 'schedule', '', made
FROM (SELECT made, lpad(to_hex((extract(epoch FROM made) * 1000)::bigint), 12, '0')
    || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex($4::bigint + n), 14, '0') AS hex FROM numbered) AS n, endpoint
