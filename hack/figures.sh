#!/usr/bin/env bash
# Runs the packages whose tests measure something (kube.Figure), whole and one at a time, in one scope, and prints the figures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

status=0
for package in $(git grep -l 'kube\.Figure(' -- '*_test.go' | xargs -n 1 dirname | sort -u); do
	echo "$package"
	go test -count=1 -vet=off -ldflags=-s -timeout=60m -v -skip='/^Cluster$|//^Cluster$|///^Cluster$' "./$package" 2>&1 |
		grep -E '^--- FAIL|figure: |^(ok|FAIL)' | sed -E 's/^ +[a-z_]+\.go:[0-9]+: figure: /  /' || status=1
done
exit "$status"
