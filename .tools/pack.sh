#!/bin/sh
# Packs the descriptions of the APIs, which the program carries, where they are not packed
# as they stand: another gzip would pack the same text into other bytes.
set -eu
cd "$(dirname "$0")/.."

for text in adapters/httpapi/openapi.yaml adapters/opsapi/openapi.yaml; do
	if gzip -t "$text.gz" 2>/dev/null && gzip -dc "$text.gz" | cmp -s - "$text"; then
		continue
	fi
	gzip -9nc "$text" >"$text.gz.tmp"
	mv "$text.gz.tmp" "$text.gz"
done
