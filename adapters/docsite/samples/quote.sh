curl -sS http://127.0.0.1:8081/v1/quotes \
  -H "Authorization: Bearer $WAYBILL_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "pickup": {"latitude": 5.5571, "longitude": -0.1818},
    "dropoff": {"latitude": 5.6037, "longitude": -0.1870},
    "vehicle_type": "bike"
  }'
