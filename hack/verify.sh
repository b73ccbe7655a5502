#!/usr/bin/env bash
# Fails if generating again changes a file, or if go.mod or go.sum are not tidy. It works on a copy, so that the tree stays as it is.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

cd "$top"
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
