#!/usr/bin/env bash
# Builds what a release consists of, in a new folder: for each architecture the package, the program, also for macOS, and its bill of
# materials (SPDX); the Helm chart, the CustomResourceDefinitions in one file, the digests of what is pushed, the notes from CHANGELOG.md,
# and SHA256SUMS of all of them. The same sources make the same files, to the byte.
#
# Usage: hack/release.sh VERSION FOLDER     VERSION is v1.2.3, and has a section in CHANGELOG.md
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=$1 out=$2
project=https://github.com/crossplane-contrib/provider-kcp

die() {
	echo "release: $*" >&2
	exit 1
}

[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || die "VERSION=$version is no semantic version such as v1.2.3"

# notes prints the section of the version. Its links to files lead to those of the version.
notes() {
	awk -v section="## [${version#v}]" 'index($0, "## ") == 1 { on = index($0, section) == 1; next } on' "$top/CHANGELOG.md" |
		sed -E "s#\]\(([^):]+)\)#](${project}/blob/${version}/\1)#g"
}
[ -n "$(notes)" ] || die "CHANGELOG.md has no section [${version#v}]"

# bill prints the bill of materials of a program: the modules that Go has written into it.
bill() {
	go version -m "$1" |
		awk -v name="${1##*/}" -v version="$version" -v sum="$(sha256sum "$1" | cut -d ' ' -f 1)" -v project="$project" -f "$top/hack/spdx.awk"
}

built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
make --no-print-directory -C "$top" xpkg chart darwin VERSION="$version" XPKG="$built" CHART="$built"

rm -rf "$out"
mkdir -p "$out"
notes >"$out/notes.md"
cat "$top"/package/crds/*.yaml >"$out/provider-kcp-$version-crds.yaml"
mv "$built/provider-kcp-${version#v}.tgz" "$out"
for package in "$built"/provider-kcp-*.xpkg; do
	arch=${package##*-} arch=${arch%.xpkg}
	mv "$package" "$out/provider-kcp-$version-$arch.xpkg"
	mv "$built/provider-$arch" "$built/provider-linux-$arch"
done
for built_program in "$built"/provider-linux-* "$built"/provider-darwin-*; do
	program=$out/provider-kcp-$version-${built_program##*/provider-}
	mv "$built_program" "$program"
	bill "$program" >"$program.spdx.json" || die "cannot write the bill of materials of $program"
done
touch -d @0 "$out"/* # Helm writes the time of the chart into the registry.
(cd "$top" && go run ./hack/registry hack/push.sh "$version" "$out") >"$built/images.txt"
mv "$built/images.txt" "$out/provider-kcp-$version-images.txt"
cd "$out"
sha256sum -- * >"$built/SHA256SUMS"
mv "$built/SHA256SUMS" .
