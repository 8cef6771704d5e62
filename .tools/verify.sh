#!/bin/sh
# Generates everything again and fails where a committed file was stale. It
# compares the files with themselves and not with the commit, so that it works in
# the middle of a change. The fresh files stay.
set -eu
cd "$(dirname "$0")/.."

fingerprints() {
	for file in ports/mocks/*.go cmd/waybill/wire_gen.go \
		adapters/clients/go/waybillapi/*.gen.go adapters/clients/typescript/src/operations.ts adapters/clients/typescript/src/schema.ts \
		$(find adapters/clients/bruno -type f | sort); do
		if [ -e "$file" ]; then echo "$file $(git hash-object "$file")"; fi
	done
}

before=$(fingerprints)
"${MAKE:-make}" --no-print-directory generate
after=$(fingerprints)

if [ "$before" = "$after" ]; then
	exit 0
fi
echo "verify: generated files were stale; they are fresh now, look at them and commit:" >&2
printf '%s\n%s\n' "$before" "$after" | sort | uniq -u | cut -d ' ' -f 1 | sort -u | sed 's/^/  /' >&2
exit 1
