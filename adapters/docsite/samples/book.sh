curl -sS http://127.0.0.1:8081/v1/deliveries \
  -H "Authorization: Bearer $WAYBILL_API_KEY" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: first-order-1" \
  -d '{
    "external_id": "first-order",
    "recipient": {
      "name": "Ama Mensah",
      "phone_number": "024 412 3456",
      "address": {"address": "7 Airport Road, Accra", "latitude": 5.6037, "longitude": -0.1870}
    },
    "pickup": {
      "name": "Adom Foods",
      "contact": "030 212 3456",
      "address": "12 Oxford Street, Osu",
      "latitude": 5.5571,
      "longitude": -0.1818
    },
    "payment": {"type": "cod", "goods_value": 120.50},
    "vehicle_type": "bike",
    "sandbox": {"scenario": "delivered", "step_seconds": 2}
  }'
