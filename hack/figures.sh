#!/usr/bin/env bash
# Runs the tests that measure something (kube.Figure), one package at a time and in one scope, and prints their figures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# tests_in prints a pattern of the tests of a package in whose code a figure is, or in a function that follows them.
tests_in() {
	awk '/^func Test/ {name = $2; sub(/\(.*/, "", name)} /kube\.Figure\(/ {print name}' "$1"/*_test.go | sort -u | paste -sd '|'
}

status=0
for package in $(git grep -l 'kube\.Figure(' -- '*_test.go' | xargs -n 1 dirname | sort -u); do
	echo "$package"
	go test -count=1 -vet=off -ldflags=-s -timeout=60m -v -run="^($(tests_in "$package"))\$" -skip='/^Cluster$|//^Cluster$' "./$package" 2>&1 |
		grep -E '^--- FAIL|figure: |^(ok|FAIL)' | sed -E 's/^ +[a-z_]+\.go:[0-9]+: figure: /  /' || status=1
done
exit "$status"
