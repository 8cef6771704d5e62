#!/bin/sh
# Runs govulncheck, of the version that is given, over everything: fails where the
# program can reach a known vulnerability. Where the database of them cannot be
# reached it says so, and fails nothing: that tells nothing about this program.
set -eu
cd "$(dirname "$0")/.."

mkdir -p .bin
GOBIN=$PWD/.bin go install "golang.org/x/vuln/cmd/govulncheck@$1"
said=$(.bin/govulncheck ./... 2>&1) && code=0 || code=$?
echo "$said"
case $said in
*"fetching vulnerabilities:"*)
	echo "vulncheck: LEFT OUT: the database of vulnerabilities cannot be reached from here" >&2
	exit 0
	;;
esac
exit $code
