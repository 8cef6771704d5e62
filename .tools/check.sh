#!/usr/bin/env bash
# What `make check` runs, step by step. All of them run even where an earlier one
# fails, so that one run shows everything; the exit code is 0 only where none
# failed. Each step has a limit, with room for a machine half as fast.
set -uo pipefail
cd "$(dirname "$0")/.."

.tools/packages.sh
have() { command -v "$1" >/dev/null 2>&1; }

table=()
failed=0
# step MINUTES TARGET: runs a target of the Makefile for that long at most.
step() {
	local start=$SECONDS ended=passed
	echo "=== make $2 (within $1 minutes)"
	if ! timeout --kill-after=10 "$1m" "${MAKE:-make}" --no-print-directory "$2"; then
		ended=FAILED
		failed=1
	fi
	table+=("$(printf '%-10s %-8s %5d s' "$2" "$ended" $((SECONDS - start)))")
}
# left_out TARGET WHY: a row for what cannot run here. With CI=true it fails.
left_out() {
	table+=("$(printf '%-10s left out: %s' "$1" "$2")")
	[ "${CI:-}" != true ] || failed=1
}

step 20 long
step 20 long-folders
step 8 pgbouncer
if have gcc; then step 25 race; else left_out race "install gcc and libc6-dev"; fi
step 8 lint
step 8 vulncheck

echo "=== make check, $SECONDS s"
printf '%s\n' "${table[@]}"
exit $failed
