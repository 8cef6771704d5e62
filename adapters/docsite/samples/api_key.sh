curl -sS http://127.0.0.1:8081/v1/api-key \
  -H "Authorization: Bearer $WAYBILL_API_KEY"
