#!/usr/bin/env bash
# Builds the Helm chart from package/chart, the CustomResourceDefinitions of package/crds and what examples/monitoring has. The same sources make the same chart, to the byte.
#
# Usage: hack/chart.sh VERSION FOLDER     VERSION as of the provider, v1.2.3. What is no semantic version comes after v0.0.0-g
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=${1#v} out=$2
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] || version=0.0.0-g$version

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cp -R "$top/package/chart" "$tmp/chart"
mkdir "$tmp/chart/files" "$tmp/files"
cp -R "$top/package/crds" "$tmp/chart/files/crds"
cp -R "$top/examples/monitoring" "$tmp/chart/files/monitoring"
helm lint --strict --quiet "$tmp/chart" >&2
helm package "$tmp/chart" --version "$version" --app-version "v$version" --destination "$tmp" >/dev/null

# Helm writes the time into the archive.
tar -xzmf "$tmp/provider-kcp-$version.tgz" -C "$tmp/files"
mkdir -p "$out"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$tmp/files" -cf - provider-kcp |
	gzip -n -9 >"$out/provider-kcp-$version.tgz"
echo "$out/provider-kcp-$version.tgz"
