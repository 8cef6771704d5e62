#!/bin/sh
# Generates adapters/clients from adapters/httpapi/openapi.yaml. The types in
# TypeScript need node and npm: a laptop without them keeps the ones it has, and
# is told so; with CI=true that is a failure.
set -eu
cd "$(dirname "$0")/.."

go run ./test/clients/generate

if ! home=$(.tools/npm.sh); then
	case ${CI:-} in
	'' | 0 | [fF]*) echo "clients: schema.ts of the TypeScript client is left as it is" >&2; exit 0 ;;
	*) exit 1 ;;
	esac
fi

types=adapters/clients/typescript/src/schema.ts
trap 'rm -f "$types.tmp"' EXIT
"$home/node_modules/.bin/openapi-typescript" adapters/httpapi/openapi.yaml --default-non-nullable=false --output "$types.tmp" >/dev/null
if cmp -s "$types.tmp" "$types"; then
	rm "$types.tmp"
else
	mv "$types.tmp" "$types"
fi
