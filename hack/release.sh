#!/usr/bin/env bash
# Builds what a release consists of, in a new folder: the packages, the Helm chart, a bill of materials (CycloneDX) of each
# program, the notes from CHANGELOG.md, and SHA256SUMS of all of them. The same sources make the same files, to the byte.
#
# Usage: hack/release.sh VERSION FOLDER     VERSION is v1.2.3, and has a section in CHANGELOG.md
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=$1 out=$2

die() {
	echo "release: $*" >&2
	exit 1
}

[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || die "VERSION=$version is no semantic version such as v1.2.3"

# notes prints the section of the version.
notes() {
	awk -v section="## [${version#v}]" 'index($0, "## ") == 1 { on = index($0, section) == 1; next } on' "$top/CHANGELOG.md"
}
[ -n "$(notes)" ] || die "CHANGELOG.md has no section [${version#v}]"

built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
make --no-print-directory -C "$top" xpkg chart VERSION="$version" XPKG="$built" CHART="$built"

rm -rf "$out"
mkdir -p "$out"
notes >"$out/notes.md"
for package in "$built"/provider-kcp-*.xpkg; do
	arch=${package##*-} arch=${arch%.xpkg}
	mv "$package" "$out/provider-kcp-$version-$arch.xpkg"
	cyclonedx-gomod bin -json -std -noserial -notimestamp -version "$version" \
		-output "$out/provider-kcp-$version-$arch.cdx.json" "$built/provider-$arch" 2>"$built/log" ||
		die "cannot write the bill of materials: $(cat "$built/log")"
done
mv "$built/provider-kcp-${version#v}.tgz" "$out"
cd "$out"
sha256sum -- * >"$built/SHA256SUMS"
mv "$built/SHA256SUMS" .
