#!/usr/bin/env bash
# Installs what tests use beside Go, for root on Debian. Elsewhere the tests that
# need a program that is missing are skipped and say what to install; with CI=true
# they fail. Postgres, Redis and PgBouncer are installed by test/servers.
set -uo pipefail

have() { command -v "$1" >/dev/null 2>&1; }
missing=()
have chromium || have google-chrome || missing+=(chromium) # opens pages
have node || missing+=(nodejs)                             # scripts of pages and samples in the documentation
have npm || missing+=(npm)
have python3 || missing+=(python3)
have php || missing+=(php-cli)
# The frameworks of the webhook receivers in the documentation.
/usr/bin/python3 -c 'import flask' 2>/dev/null || missing+=(python3-flask)
[ -d /usr/share/nodejs/express ] || missing+=(node-express)
[ -d /usr/share/php/Illuminate/Foundation ] || missing+=(php-laravel-framework)
have osmium || missing+=(osmium-tool) # makes the map of the routing engine
have nginx || missing+=(nginx-light) # a load balancer of the tests
have gcc || missing+=(gcc libc6-dev)  # for the race detector
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" != 0 ] || ! have apt-get; then
	echo "packages: not installed here, so some tests are left out: ${missing[*]}" >&2
	exit 0
fi
apt() { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -y --no-install-recommends "$@"; }
apt update
# One by one: some packages of nodejs bring npm and refuse Debian's.
for package in "${missing[@]}"; do
	apt install "$package" || echo "packages: $package could not be installed" >&2
done
exit 0
