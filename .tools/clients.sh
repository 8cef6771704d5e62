#!/bin/sh
# Generates adapters/clients from adapters/httpapi/openapi.yaml: the client in Go by
# oapi-codegen, at the version that .tools/generators pins, Bruno's requests and the table of
# operations in TypeScript by .tools/operations, and the types in TypeScript by
# openapi-typescript. The last needs node and npm: a laptop without them keeps the types it
# has, and is told so; with CI=true that is a failure.
set -eu
cd "$(dirname "$0")/.."
description=adapters/httpapi/openapi.yaml

go tool -modfile=.tools/generators/go/go.mod oapi-codegen -config .tools/oapi-codegen/config.yaml -templates .tools/oapi-codegen/templates "$description"
go run ./.tools/operations

if ! home=$(.tools/npm.sh); then
	case ${CI:-} in
	'' | 0 | [fF]*) echo "clients: schema.ts of the TypeScript client is left as it is" >&2; exit 0 ;;
	*) exit 1 ;;
	esac
fi

types=adapters/clients/typescript/src/schema.ts
trap 'rm -f "$types.tmp"' EXIT
"$home/node_modules/.bin/openapi-typescript" "$description" --default-non-nullable=false --output "$types.tmp" >/dev/null
if cmp -s "$types.tmp" "$types"; then
	rm "$types.tmp"
else
	mv "$types.tmp" "$types"
fi
