#!/bin/sh
# Lints the descriptions of the APIs, and fails where the public one breaks what
# the last release promised, openapi.released.yaml. Breaks that are meant stand in
# .tools/openapi/breaks.txt. A release copies openapi.yaml over the released one and
# empties that list.
#
# Webhooks are left out of the comparison by an extension that they alone have:
# oasdiff takes them for requests to us, of which another required field is a break.
set -eu
cd "$(dirname "$0")/.."

api=adapters/httpapi
go run -modfile=.tools/tools.mod ./.tools/openapi $api/openapi.yaml adapters/opsapi/openapi.yaml
if ! breaks=$(go tool -modfile=.tools/tools.mod oasdiff breaking --fail-on ERR --err-ignore .tools/openapi/breaks.txt \
	--filter-extension x-waybill-test-vector --format singleline $api/openapi.released.yaml $api/openapi.yaml 2>&1); then
	echo "$breaks" | grep -v -e '^warning' -e '^$' >&2
	echo "openapi: what broke the API since the last release has to be mended, or listed in .tools/openapi/breaks.txt" >&2
	exit 1
fi
