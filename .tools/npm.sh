#!/bin/sh
# Installs what .tools/npm/package-lock.json pins into .bin/npm, once for each
# lock, and prints that folder. Nothing of it runs a script of its own.
set -eu
cd "$(dirname "$0")/.."

for tool in node npm; do
	if ! command -v "$tool" >/dev/null 2>&1; then
		echo "$tool is not installed; install nodejs and npm" >&2
		exit 1
	fi
done

lock=$(git hash-object .tools/npm/package-lock.json)
home=.bin/npm-$lock
if [ ! -d "$home" ]; then
	mkdir -p .bin
	new=$(mktemp -d .bin/npm-install-XXXXXX)
	trap 'rm -rf "$new"' EXIT
	cp .tools/npm/package.json .tools/npm/package-lock.json "$new"
	npm ci --prefix "$new" --ignore-scripts --no-audit --no-fund --loglevel=error >&2
	mv "$new" "$home" 2>/dev/null || [ -d "$home" ] # another process may have been faster
fi
echo "$PWD/$home"
