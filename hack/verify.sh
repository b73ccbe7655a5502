#!/usr/bin/env bash
# Fails if generating again changes a file, if go.mod or go.sum are not tidy, or if the servers of tests are not of the Kubernetes that the
# provider is built with. It works on a copy, so that the tree stays as it is.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

cd "$top"
# required prints the modules of Kubernetes that a go.mod requires itself.
required() { awk '{sub(/^require /, "")} $1 ~ /^k8s\.io\// && $2 ~ /^v/ && !/ indirect/ {print $1, $2}' "$1" | LC_ALL=C sort; }
differ=$(LC_ALL=C join <(required go.mod) <(required hack/tools/kubernetes/go.mod) | awk '$2 != $3 {print $1 ": " $2 " and " $3}')
if [ -n "$differ" ]; then
	printf 'verify: go.mod and hack/tools/kubernetes/go.mod differ; hack/tools/README.md says how to move a tool up:\n%s\n' "$differ" >&2
	exit 1
fi
git ls-files --cached --others --exclude-standard -z | while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done |
	tar --null -T - -cf - | tar -xf - -C "$copy"
cp -r "$copy" "$copy.before"
trap 'rm -rf "$copy" "$copy.before"' EXIT

make -C "$copy" --no-print-directory generate
(cd "$copy" && go mod tidy)
rm -rf "$copy/.tools"
if ! diff -ru "$copy.before" "$copy"; then
	echo 'verify: the files above are not what the sources say; run: make generate && go mod tidy' >&2
	exit 1
fi
echo 'verify: generated files and module files are up to date'
