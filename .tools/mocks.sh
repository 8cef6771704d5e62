#!/bin/sh
# Generates ports/mocks/<file>.go for every file of ports that declares an
# interface, and removes the mocks of files that do no longer. A mock is replaced
# in one step and only where it differs, so that a build running meanwhile never
# reads half a file.
#
# mockgen runs in source mode. It does not know type parameters, so that neither
# an interface nor a signature in ports may use one (iter.Seq included).
set -eu
cd "$(dirname "$0")/.."

mkdir -p ports/mocks
trap 'rm -f ports/mocks/.*.tmp' EXIT

# For interfaces that embed one declared in another file of the package.
siblings=
for source in ports/*.go; do
	siblings="$siblings${siblings:+,}waybill/ports=$source"
done

for source in ports/*.go; do
	case $source in *_test.go) continue ;; esac
	grep -Eq '^(type[[:space:]]|[[:space:]]+)[A-Z][A-Za-z0-9]*[[:space:]]+interface[[:space:]]*\{' "$source" || continue
	name=${source##*/}
	new=ports/mocks/.$name.tmp
	go tool -modfile=.tools/tools.mod mockgen \
		-source="$source" -aux_files="$siblings" -destination="$new" -package=mocks
	if cmp -s "$new" "ports/mocks/$name"; then
		rm "$new"
	else
		mv "$new" "ports/mocks/$name"
	fi
done

for mock in ports/mocks/*.go; do
	name=${mock##*/}
	if [ -e "$mock" ] && ! { [ -e "ports/$name" ] && grep -Eq '[[:space:]]interface[[:space:]]*\{' "ports/$name"; }; then
		rm "$mock"
	fi
done
