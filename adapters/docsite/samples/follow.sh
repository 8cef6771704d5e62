curl -sS "http://127.0.0.1:8081/v1/deliveries?external_id=first-order" \
  -H "Authorization: Bearer $WAYBILL_API_KEY" | tee delivery.json
DELIVERY=$(grep -o 'dlv_[0-9a-f]*' delivery.json | head -n 1)
curl -sS http://127.0.0.1:8081/v1/deliveries/$DELIVERY/events \
  -H "Authorization: Bearer $WAYBILL_API_KEY"
