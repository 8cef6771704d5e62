#!/bin/sh
# Runs every native fuzz target for FUZZTIME, one after the other. A failure is
# written below the package's testdata/fuzz, ready to be committed as a case.
set -eu
cd "$(dirname "$0")/.."

list=$(go test -list '^Fuzz' ./...) || { echo "$list" >&2; exit 1; }
targets=$(echo "$list" | awk '/^Fuzz/ { name[n++] = $1 } /^ok/ { for (i = 0; i < n; i++) print $2, name[i]; n = 0 }')
if [ -z "$targets" ]; then
	echo "fuzz: no fuzz targets"
	exit 0
fi
echo "$targets" | while read -r package target; do
	echo "fuzz: $target in $package for ${FUZZTIME:-30s}"
	go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-30s}" </dev/null
done
