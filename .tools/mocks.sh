#!/bin/sh
# Generates ports/mocks/<file>.go for the interfaces of ports/<file>.go that a test
# makes a mock of, and removes every other mock. A test that needs another one names
# it, mocks.NewMock<interface>, and this script makes it. A mock is replaced in one step and
# only where it differs, so that a build running meanwhile never reads half a file.
#
# mockgen runs in source mode. It does not know type parameters, so that neither
# an interface nor a signature in ports may use one (iter.Seq included).
set -eu
cd "$(dirname "$0")/.."

mkdir -p ports/mocks
trap 'rm -f ports/mocks/.*.tmp' EXIT

used=$(grep -rhoE --include='*.go' --exclude-dir=mocks 'mocks\.NewMock[A-Za-z0-9]+' application adapters cmd test | sed 's/.*NewMock//' | sort -u)

# fingerprint is of all that goes in and comes out.
fingerprint() {
	{ cat .tools/mocks.sh .tools/tools.mod ports/*.go ports/mocks/*.go; echo "$used"; } | git hash-object --stdin
}

# What was generated here from the same is not generated again: that takes a while.
if [ -e ".bin/mocks-$(fingerprint)" ]; then exit 0; fi

# For interfaces that embed one declared in another file of the package.
siblings=
for source in ports/*.go; do
	siblings="$siblings${siblings:+,}waybill/ports=$source"
done

# mocks_of prints what mockgen makes of a file, without the mocks that nobody uses and the imports of those.
mocks_of() {
	go tool -modfile=.tools/tools.mod mockgen -source="$1" -aux_files="$siblings" -package=mocks | awk -v used=" $(echo $used) " '
		/^\/\/ Mock[A-Za-z0-9]+ is a mock of / { dropped = !index(used, " " substr($2, 5) " ") }
		!dropped { line[++n] = $0 }
		END {
			for (i = 1; i <= n; i++) if (line[i] !~ /^\t[a-z]+ "/) body = body "\n" line[i]
			for (i = 1; i <= n; i++) {
				name = substr(line[i], 2)
				sub(/ .*/, "", name)
				if (line[i] !~ /^\t[a-z]+ "/ || body ~ "[^A-Za-z]" name "[.]") print line[i]
			}
		}' | gofmt
}

for source in ports/*.go; do
	mock=ports/mocks/${source##*/}
	if ! grep -Eq "^(type[[:space:]]+|[[:space:]]+)($(echo $used | tr ' ' '|'))[[:space:]]+interface[[:space:]]*\{" "$source"; then
		rm -f "$mock"
		continue
	fi
	new=ports/mocks/.${source##*/}.tmp
	mocks_of "$source" >"$new"
	if cmp -s "$new" "$mock"; then
		rm "$new"
	else
		mv "$new" "$mock"
	fi
done

for mock in ports/mocks/*.go; do
	if [ ! -e "ports/${mock##*/}" ]; then rm -f "$mock"; fi
done

mkdir -p .bin
rm -f .bin/mocks-*
touch ".bin/mocks-$(fingerprint)"
