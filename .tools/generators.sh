#!/bin/sh
# Runs the generators that integrators use on the description of the public API, at the versions that
# .tools/generators pins, compiles what they make, and calls a sandbox with it: as it is, and as a later
# version of it would answer, with a field, an event type and an error code that are new. It needs the
# network, or caches of Go modules and npm packages, and takes some minutes.
set -eu
cd "$(dirname "$0")/.."

for tool in go node npm; do
	command -v "$tool" >/dev/null 2>&1 || { echo "generators: $tool is not installed" >&2; exit 1; }
done
program=$PWD/.bin/waybill
go build -ldflags '-s -w' -o "$program" ./cmd/waybill

work=$PWD/.bin/generators
mkdir -p "$work"
cp -R .tools/generators/. "$work"
cp adapters/httpapi/openapi.yaml "$work"
cd "$work"
echo "generators: fetching what is pinned"
if ! cmp -s package-lock.json fetched-lock.json; then
	if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >npm.log 2>&1; then
		cat npm.log >&2
		echo "generators: npm packages cannot be had; the network is needed the first time" >&2
		exit 1
	fi
	cp package-lock.json fetched-lock.json
fi
if ! (cd go && go mod download) 2>go.log; then
	cat go.log >&2
	echo "generators: Go modules cannot be had; the network is needed the first time" >&2
	exit 1
fi
PATH=$work/node_modules/.bin:$PATH

data=$(mktemp -d)
started=
trap 'for id in $started; do kill "$id" 2>/dev/null || true; done; wait; rm -rf "$data"' EXIT
"$program" dev --data-dir "$data" --live-addr 127.0.0.1:0 --sandbox-addr 127.0.0.1:0 --ops-addr 127.0.0.1:0 --portal-addr '' >dev.log 2>&1 &
started=$!
# within SECONDS COMMAND: waits until it succeeds.
within() {
	left=$1
	shift
	until "$@"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || { echo "generators: waited in vain for: $*; see .bin/generators" >&2; exit 1; }
		sleep 1
	done
}
within 60 test -s "$data/dev.env"
set -a
. "$data/dev.env"
set +a
within 30 curl -fsS "$WAYBILL_SANDBOX_URL/openapi.json" -o openapi.json
node later.mjs >later.url &
started="$started $!"
within 30 grep -q http later.url

# quietly NAME COMMAND: shows what the command said only where it fails.
quietly() {
	name=$1
	shift
	echo "generators: $name"
	"$@" >"$name.log" 2>&1 || { cat "$name.log" >&2; echo "generators: $name failed" >&2; exit 1; }
}
rm -rf hey orval codegen swagger go/oapi go/og
mkdir -p go/oapi
quietly oapi-codegen sh -c 'cd go && go tool oapi-codegen -generate types,client,skip-prune -package oapi -o oapi/oapi.go ../openapi.yaml'
quietly ogen sh -c 'cd go && go tool ogen --target og --package og --clean ../openapi.yaml'
if grep 'Skipping operation' ogen.log; then
	echo "generators: ogen leaves operations out" >&2
	exit 1
fi
quietly openapi-typescript openapi-typescript openapi.json --output openapi-typescript.d.ts
quietly hey-api openapi-ts
quietly orval orval --config orval.config.mjs
quietly openapi-typescript-codegen openapi --input openapi.json --output codegen
quietly swagger-typescript-api swagger-typescript-api generate --path openapi.json --output swagger --name api.ts
quietly tsc tsc -p .
quietly esbuild esbuild client.ts --bundle --platform=node --format=esm --outfile=client.mjs
quietly go-build sh -c 'cd go && go build -o ../client . && go vet ./og'

export API_URL API_IS_LATER
API_IS_LATER=
for API_URL in "$WAYBILL_SANDBOX_URL" "$(cat later.url)"; do
	echo "generators: calling the sandbox${API_IS_LATER:+, as a later version}"
	./client
	node client.mjs
	node ajv.mjs
	API_IS_LATER=yes
done
API_URL=$WAYBILL_SANDBOX_URL node postman.cjs
echo "generators: all of them understand the description"
