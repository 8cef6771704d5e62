-- The request log as it is after a month of a busy customer. IDs tell the time.
CREATE FUNCTION bench_id(at timestamptz, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid
$$;

-- A partition of a day, filled before it gets its indexes.
CREATE PROCEDURE bench_day(kind text, day date, rows bigint) LANGUAGE plpgsql AS $$
DECLARE
    part text := kind || '_' || to_char(day, 'YYYYMMDD');
    first timestamptz := day::timestamp AT TIME ZONE 'UTC';
    span interval := least(interval '1 day', now() - (day::timestamp AT TIME ZONE 'UTC'));
    routes text[] := ARRAY['GET /v1/deliveries/{delivery_id}', 'POST /v1/deliveries', 'GET /v1/deliveries', 'GET /v1/events', 'POST /v1/quotes', 'GET /v1/recipients',
        'GET /v1/deliveries/{delivery_id}/events', 'POST /v1/deliveries/{delivery_id}/cancel'];
    codes text[] := ARRAY['VALIDATION_ERROR', 'NOT_FOUND', 'RATE_LIMIT_EXCEEDED', 'EXTERNAL_ID_CONFLICT'];
    statuses integer[] := ARRAY[422, 404, 429, 409];
    failed boolean := kind = 'request_failures';
BEGIN
    EXECUTE format('DROP TABLE IF EXISTS %I', part);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part, kind);
    EXECUTE format('INSERT INTO %I SELECT bench_id($1 + $2 * n / $3, n), '''', CASE WHEN n %% 20 = 0 THEN ''sandbox'' ELSE ''live'' END,'
        '  CASE WHEN n %% 10 < 7 THEN ''$business''::uuid ELSE md5((n %% 40)::text)::uuid END, CASE WHEN n %% 10 < 7 THEN ''$app''::uuid ELSE md5((n %% 40)::text)::uuid END,'
        '  CASE WHEN n %% 10 >= 7 THEN md5((n %% 40)::text)::uuid WHEN n %% 20 = 0 THEN ''$sandbox''::uuid ELSE ''$live''::uuid END,'
        '  CASE WHEN n %% 200000 = 1000 THEN ''$rare_route'' ELSE $4[1 + (n * 7 / 10) %% 8] END, CASE WHEN n %% 3 = 0 THEN bench_id($1, n / 9) END,'
        '  CASE WHEN NOT $7 THEN 200 WHEN n %% 50000 = 100 THEN 503 ELSE $6[1 + (n / 10) %% 4] END,'
        '  CASE WHEN NOT $7 THEN '''' WHEN n %% 50000 = 100 THEN ''$rare_code'' ELSE $5[1 + (n / 10) %% 4] END,'
        '  CASE WHEN $7 THEN ''recipient.phone_number'' ELSE '''' END, 12345, false, ''\xabcdef0123456789'', ''198.51.100.0/24'', ''shop/1.2 (bench)'', 1'
        ' FROM generate_series(0, $3 - 1) AS n', part) USING first, span, rows, routes, codes, statuses, failed;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', kind, part,
        (lpad(to_hex((extract(epoch FROM first) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid,
        (lpad(to_hex((extract(epoch FROM first + interval '1 day') * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid);
END
$$;

CREATE PROCEDURE bench_usage(day date) LANGUAGE plpgsql AS $$
DECLARE
    part text := 'usage_minutes_' || to_char(day, 'YYYYMMDD');
    first timestamptz := day::timestamp AT TIME ZONE 'UTC';
    routes text[] := ARRAY['GET /v1/deliveries/{delivery_id}', 'POST /v1/deliveries', 'GET /v1/deliveries', 'GET /v1/events', 'POST /v1/quotes', 'GET /v1/recipients',
        'GET /v1/deliveries/{delivery_id}/events', 'POST /v1/deliveries/{delivery_id}/cancel'];
BEGIN
    EXECUTE format('DROP TABLE IF EXISTS %I', part);
    EXECUTE format('CREATE TABLE %I (LIKE usage_minutes INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part);
    -- Two processes; each route is called each minute, and fails in some.
    EXECUTE format('INSERT INTO %I SELECT $1 + minute * interval ''1 minute'', md5(writer || e)::uuid, e, ''$business'', ''$app'','
        '  CASE e WHEN ''live'' THEN ''$live''::uuid ELSE ''$sandbox''::uuid END, route, CASE WHEN failed THEN 422 ELSE 200 END, CASE WHEN failed THEN ''VALIDATION_ERROR'' ELSE '''' END,'
        '  10 + minute %% 50, 0, 100000'
        ' FROM generate_series(0, 1439) AS minute, unnest(ARRAY[''a'', ''b'']) AS writer, unnest(ARRAY[''live'', ''sandbox'']) AS e, unnest($2) AS route, unnest(ARRAY[false, true]) AS failed'
        ' WHERE (NOT failed OR (minute + length(route)) %% 4 = 0) AND $1 + minute * interval ''1 minute'' <= now()', part) USING first, routes;
    EXECUTE format('ALTER TABLE usage_minutes ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, first, first + interval '1 day');
    -- A partition is filled beside the triggers that sum it up.
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF usage_hours FOR VALUES FROM (%L) TO (%L)', 'usage_hours_' || to_char(day, 'YYYYMMDD'), first, first + interval '1 day');
    EXECUTE format('INSERT INTO usage_hours SELECT date_trunc(''hour'', minute, ''UTC''), writer, environment, business_id, application_id, key_id, route, status, code,'
        '  sum(calls), sum(replayed), sum(took_us), max(minute) FROM %I GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9', part);
END
$$;

DO $$
DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
    SET LOCAL maintenance_work_mem = '256MB';
    FOR back IN 0..29 LOOP
        CALL bench_day('request_failures', today - back, $rows / 300);
        CALL bench_usage(today - back);
        IF back < 3 THEN
            CALL bench_day('request_successes', today - back, $rows * 3 / 10);
        END IF;
    END LOOP;
END
$$;

ANALYZE;

CHECKPOINT
