#!/usr/bin/env bash
# Runs tests by size. A test that fails runs again, twice at most, if no more than five have failed; the last lines name
# each that needed it.
#
# Usage: hack/test.sh            what hack/promises.txt promises, and all tests of packages that hack/areas.txt does not list
#        hack/test.sh AREA...    the packages of areas of hack/areas.txt, whole. Area versions is what hack/promises.txt promises,
#                                with other versions of the servers
#        hack/test.sh --check    nothing, but find what these two files say and the packages do not hold
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
module=$(go list -m)
work=$(mktemp -d)
cluster_scope='/^Cluster$|//^Cluster$|///^Cluster$'
servers='' # the process that runs servers, while there is one
status=0

main() {
	if [ "${1:-}" = --check ]; then
		check
		return
	fi
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	if [ $# -gt 0 ]; then
		local area packages
		for area in "$@"; do
			if [ "$area" = versions ]; then
				run_versions
			else
				packages=$(packages_of "$area")
				run "$area" '' '' "$packages"
			fi
		done
	else
		start_servers
		run promises "$(chosen_tests)" "$cluster_scope" "$(chosen_packages)"
		run other '' '' "$(other_packages)"
	fi
	report
}

# clean_up stops the servers and waits for them: they must not outlive what used them.
clean_up() {
	[ -z "$servers" ] || { kill "$servers" && wait "$servers"; } 2>/dev/null || true
	rm -rf "$work"
}

# start_servers runs the servers that all packages share: a control plane without controllers, a target, and a kcp.
start_servers() {
	local dir=$work/servers
	go build -o "$work/local" ./cluster/local/cmd/local
	"$work/local" up --dir "$dir" --clusters=control,remote --kcp --audit >"$work/servers.log" 2>&1 &
	servers=$!
	until [ -e "$dir/ready" ]; do
		kill -0 "$servers" 2>/dev/null || { cat "$work/servers.log" >&2; exit 1; }
		sleep 0.2
	done
	export PROVIDER_KCP_TEST_SERVERS=$dir
}

# run tests packages: all that match a pattern but those that match another one.
run() {
	local name=$1 only=$2 but=$3 packages=$4
	gotestsum --format=pkgname --hide-summary=skipped \
		--rerun-fails=2 --rerun-fails-max-failures=5 --rerun-fails-run-root-test --rerun-fails-report="$work/$name.reruns" \
		--packages="$packages" -- \
		-count=1 -vet=off -ldflags=-s -p=2 -parallel=6 -timeout=60m ${only:+"-run=$only"} ${but:+"-skip=$but"} || status=1
}

# run_versions runs what is promised of the packages in which servers matter, with each other version that hack/tools has of them.
run_versions() {
	local version packages
	for version in hack/tools/*-[0-9]*.[0-9]*; do
		version=${version##*/}
		case $version in
		# Workspaces move between shards since kcp 0.32.
		kcp-*) packages=$(packages_of sync | grep -v '/shards$')$'\n./internal/kcp\n./internal/publication' ;;
		*) packages=$(packages_of object) ;;
		esac
		PROVIDER_KCP_TEST_VERSION=$version run "$version" "$(chosen_tests)" "$cluster_scope" "$packages"
	done
}

# packages_of prints the packages of an area.
packages_of() {
	local found
	found=$(awk -v area="$1" '$1 == area {print "./" $2}' hack/areas.txt)
	[ -n "$found" ] || { echo "there is no area $1; there are: $(areas)" >&2; exit 1; }
	echo "$found"
}

areas() { { awk '!/^#/ {print $1}' hack/areas.txt | uniq; echo versions; } | paste -sd ' '; }

# listed prints the packages of all areas.
listed() { awk '!/^#/ {print $2}' hack/areas.txt; }

# promised prints a package and a test on each line.
promised() { grep -v '^#' hack/promises.txt; }

# chosen_packages prints the listed packages of which some tests are run, those with the most tests first: they take the
# longest.
chosen_packages() {
	{ promised; pure; } | cut -d' ' -f1 | grep -xF -f <(listed) | sort | uniq -c | sort -rn | awk '{print "./" $2}'
}

# chosen_tests prints a pattern of the tests of these packages.
chosen_tests() { echo "^($({ promised; pure; } | cut -d' ' -f2 | sort -u | paste -sd '|'))\$"; }

# pure prints the tests of listed packages that are in files of the package itself.
pure() {
	local package
	listed | grep '^internal/' | while read -r package; do
		grep -LE '^package .*_test$' "$package"/*_test.go | xargs -r sed -nE "s#^func (Test[A-Za-z0-9_]*)\(t .*#$package \1#p"
	done
}

# other_packages prints the packages with tests that are not listed, and first the one that takes the longest.
other_packages() {
	echo ./internal/clusters
	go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | sed "s#^$module#.#" |
		grep -vxF -f <(echo ./internal/clusters; listed | sed 's#^#./#')
}

# check finds promises whose tests do not exist, and tests that would run because another package has one of their name.
check() {
	local package test known pattern
	pattern=$(chosen_tests)
	known=$({ promised; pure; } | sort -u)
	while read -r package test; do
		grep -qE "^func $test\(" "$package"/*_test.go || { echo "hack/promises.txt: $package has no $test" >&2; status=1; }
	done <<<"$known"
	for test in $(grep -oEh '`(Test|Fuzz)[A-Z][A-Za-z0-9]*`' $(git ls-files '*.md') | tr -d '`' | sort -u); do
		git grep -qE "^func $test\(" -- '*_test.go' || { echo "docs: there is no $test" >&2; status=1; }
	done
	while read -r package; do
		[ -d "$package" ] || { echo "hack/areas.txt: there is no package $package" >&2; status=1; }
	done < <(listed)
	while read -r package test; do
		echo "$package: $test would be run by make test for a test of its name in another package; rename it" >&2
		status=1
	done < <(chosen_packages | while read -r package; do
		sed -nE "s#^func (Test[A-Za-z0-9_]*)\(t .*#${package#./} \1#p" "$package"/*_test.go |
			grep -E " ${pattern#^}" | grep -vxF "$known" || true
	done)
	return "$status"
}

# report names what needed a second run.
report() {
	local reruns
	reruns=$(cat "$work"/*.reruns 2>/dev/null || true)
	if [ -n "$reruns" ]; then
		printf 'These tests needed more than one run:\n%s\n' "$reruns"
	else
		echo 'No test needed a second run.'
	fi
	exit "$status"
}

main "$@"
