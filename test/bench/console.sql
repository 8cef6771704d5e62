-- What is kept for reports after the longest time: of each day by vehicle and municipality, and by customer.
INSERT INTO report_figures (environment, by_what, day, business_id, vehicle, municipality, booked, delivered, cancelled, failed, to_assign, to_deliver)
SELECT 'live', kept.by_what, date_trunc('day', now(), 'UTC') - back * interval '1 day',
    CASE WHEN kept.by_what >= 4 THEN c.id ELSE '00000000-0000-0000-0000-000000000000' END,
    CASE WHEN kept.by_what % 2 = 1 THEN vehicle ELSE '' END, CASE WHEN kept.by_what % 4 >= 2 THEN 'Town ' || town ELSE '' END,
    100, 90, 5, '{"recipient_unavailable":5}', '\x0a050b060c07', '\x1e051f062007'
FROM unnest(ARRAY[0, 1, 2, 3, 4, 7]) AS kept (by_what), generate_series(0, 399) AS back, (SELECT id, row_number() OVER (ORDER BY id) AS n FROM businesses) AS c,
    unnest(ARRAY['bike', 'car', 'van']) AS vehicle, generate_series(1, 10) AS town
WHERE CASE kept.by_what WHEN 7 THEN c.n <= 20 WHEN 4 THEN vehicle = 'bike' AND town = 1 ELSE c.n = 1 END
ON CONFLICT DO NOTHING;
-- And of each month by customer.
INSERT INTO report_figures (environment, by_what, day, business_id, vehicle, municipality, booked, delivered, cancelled, failed, to_assign, to_deliver)
SELECT 'live', 12, date_trunc('month', day, 'UTC'), business_id, '', '', sum(booked), sum(delivered), sum(cancelled), '{"recipient_unavailable":150}',
    '\x0ad8010bd8010cd801', '\x1ed8011fd80120d801'
FROM report_figures WHERE by_what = 4 GROUP BY 3, 4
ON CONFLICT DO NOTHING;
-- The events that were filled into the feed have no history to count: what happens from now on is counted.
DELETE FROM report_progress WHERE stream <> 'months';
ANALYZE
