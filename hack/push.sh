#!/usr/bin/env bash
# Pushes the package and the chart of a release to REGISTRY.
#
# Usage: REGISTRY=host/organisation hack/push.sh VERSION FOLDER     FOLDER is what hack/release.sh has written
set -euo pipefail

version=$1 folder=$2
packages=$(printf ',%s' "$folder"/provider-kcp-"$version"-*.xpkg)
crank xpkg push --package-files="${packages#,}" "$REGISTRY/provider-kcp:$version"

# A registry of this machine has no certificate. Helm writes the time of the chart in the zone of the machine.
plain=''
[[ $REGISTRY != 127.0.0.1:* ]] || plain=--plain-http
TZ=UTC helm push ${plain:+"$plain"} "$folder/provider-kcp-${version#v}.tgz" "oci://$REGISTRY/charts"
