#!/usr/bin/env bash
# Fuzzes whatever reads input of tenants: each function Fuzz… of the tree for some time, 60s if no other is given, two at a time. What breaks
# one is kept below the testdata of its package, so that go test finds it again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export FUZZTIME=${1:-60s}

# fuzz runs one function. Its output is shown when it is over, so that two do not mix.
fuzz() {
	local out begin=$SECONDS
	if out=$(go test -vet=off -run='^$' -fuzz="^$2\$" -fuzztime="$FUZZTIME" -parallel=1 "./$1" 2>&1); then
		echo "ok   $1 $2, $((SECONDS - begin)) s"
		return
	fi
	printf 'FAIL %s %s\n%s\n' "$1" "$2" "$out"
	return 1
}
export -f fuzz

grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed -E 's|^\./(.*)/[^/]*:func (.*)$|\1 \2|' | sort |
	xargs -P 2 -L 1 bash -c 'fuzz "$@"' fuzz
