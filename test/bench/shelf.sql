-- Puts deliveries on the shelf: of each of the applications $1 in turn a copy of
-- one it has, up to $2 of them in all. Their IDs are made of decimal digits in the
-- end, so that pgbench can make them too.
WITH template AS MATERIALIZED (
    SELECT DISTINCT ON (d.application_id) a.place, to_jsonb(d) AS booked
    FROM unnest($1::uuid[]) WITH ORDINALITY AS a (id, place)
    JOIN deliveries d ON d.application_id = a.id AND d.environment = 'live'
    ORDER BY d.application_id, d.created_at, d.id
)
INSERT INTO deliveries
SELECT copy.*
FROM template t, generate_series(t.place - 1, $2::integer - 1, cardinality($1::uuid[])) AS n,
    jsonb_populate_record(NULL::deliveries, t.booked || jsonb_build_object(
        'id', '01911111-1111-7111-8111-' || (111110000000 + n)::text, 'reference', 'shelf-' || n, 'external_id', NULL)) AS copy
