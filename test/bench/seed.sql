-- What a booking points at, and the booking as one call. Beside the migrated
-- tables; $business and $application are put in by the program.
INSERT INTO businesses (id, name, created_at) VALUES ('$business', 'Bench', now());
INSERT INTO applications (id, business_id, name, disabled, created_at)
VALUES ('$application', '$business', 'Bench', false, now());

CREATE FUNCTION bench_book(application uuid, business uuid, n bigint, r bigint, mark bytea, answer bytea, payload bytea)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    head text := lpad(to_hex(n), 16, '0');
    recipient uuid := (head || '8000000000000001')::uuid;
    place uuid := (head || '8000000000000002')::uuid;
    delivery uuid := (head || '8000000000000003')::uuid;
    event uuid := (head || '8000000000000004')::uuid;
BEGIN
    INSERT INTO idempotency_keys (business_id, application_id, environment, key, fingerprint, claim_id, status, location, body,
        created_at, expires_at)
    VALUES (business, application, 'live', 'bench-' || n, mark, (head || '8000000000000005')::uuid, 201,
        'http://127.0.0.1:8080/v1/deliveries/dlv_' || head || '8000000000000003', answer,
        now(), now() + interval '24 hours')
    ON CONFLICT (application_id, environment, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, claim_id = excluded.claim_id, status = excluded.status,
        location = excluded.location, body = excluded.body,
        created_at = excluded.created_at, expires_at = excluded.expires_at
    WHERE idempotency_keys.expires_at <= now();

    INSERT INTO recipients (id, business_id, environment, phone_number, name, search_text, address_count,
        created_at, updated_at)
    VALUES (recipient, business, 'live', '+' || n, 'Nana Akosua Boateng-Mensah', 'nana akosua boateng-mensah +' || n,
        1, now(), now())
    ON CONFLICT (business_id, environment, phone_number) DO NOTHING;

    INSERT INTO recipient_addresses (id, recipient_id, business_id, environment, label, address, match_key, match_hash,
        latitude, longitude, municipality, delivery_notes, created_at)
    VALUES (place, recipient, business, 'live', 'Home', '17 Palm Crescent, Labone, behind the old post office',
        '17 palm crescent, labone, behind the old post office', mark, 5.5712345, -0.1723456,
        'La Dade Kotopon', 'Blue gate, ring twice and wait for the watchman', now())
    ON CONFLICT (recipient_id, match_hash) DO NOTHING;

    INSERT INTO deliveries (id, application_id, business_id, environment, reference, external_id, recipient_id,
        recipient_name, recipient_phone, pickup_name, pickup_contact, pickup_address, pickup_latitude, pickup_longitude,
        dropoff_id, dropoff_address, dropoff_latitude, dropoff_longitude, dropoff_label, dropoff_municipality,
        dropoff_notes, payment_type, goods_value_minor, vehicle_type, currency, delivery_fee_minor,
        requires_custom_quote, distance_km, distance_source, instructions, status, last_sequence, picked_up_at,
        created_at, updated_at)
    VALUES (delivery, application, business, 'live', to_hex(r), 'order-' || n, recipient,
        'Nana Akosua Boateng-Mensah', '+' || n, 'Osu kitchen', '+233302000011',
        '8 Cantonments Close, Osu, opposite the fire station', 5.5571234, -0.1818765,
        place, '17 Palm Crescent, Labone, behind the old post office', 5.5712345, -0.1723456, 'Home', 'La Dade Kotopon',
        'Blue gate, ring twice and wait for the watchman', 'cod', 12550, 'bike', 'GHS', 2450,
        false, 2.5, 'straight_line', 'Two bags and a crate of drinks. Keep the crate upright, and call before you set out. If nobody answers, leave it with the neighbour at number 19.',
        'booked', 1, NULL, now(), now());

    INSERT INTO delivery_events (id, business_id, delivery_id, sequence, type, status, previous_status, reason_code, occurred_at)
    VALUES (event, business, delivery, 1, 'delivery.created', 'booked', '', '', now());

    INSERT INTO feed_events (id, business_id, application_id, environment, delivery_id, sequence, type, occurred_at, payload, position)
    VALUES (event, business, application, 'live', delivery, 1, 'delivery.created', now(), payload,
        (SELECT nextval('feed_positions') FROM (SELECT pg_advisory_xact_lock_shared(2002937444, ((last_value & 4294967295) - 2147483648)::integer) FROM feed_positions OFFSET 0) AS held));

    INSERT INTO webhook_deliveries (id, business_id, endpoint_id, event_id, event_type, delivery_id, sequence, status, attempts, used,
        due_at, trigger, back, created_at)
    SELECT (substr(event::text, 1, 35) || to_hex(slot::integer))::uuid, business_id, id, event, 'delivery.created', delivery, 1,
        CASE WHEN enabled THEN 'pending' ELSE 'held' END, 0, 0, CASE WHEN enabled THEN now() END, 'schedule', '', now()
    FROM webhook_endpoints
    WHERE business_id = business AND application_id = application AND environment = 'live' AND slot IS NOT NULL AND event_mask & 1 <> 0;
END $$;

CREATE TABLE bench_commits (id bigserial PRIMARY KEY, payload bytea);
