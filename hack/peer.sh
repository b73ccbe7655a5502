#!/usr/bin/env bash
# Measures provider-kubernetes as make bench measures this provider: hack/peer.sh [OBJECTS]. The program comes from make tools.e2e. It runs without
# its webhook, as the versions of Object need no conversion here. There are three runs: Objects with watches and drift of their resources, a poll of
# the same, and a poll with watches off, where drift is reverted at the next poll and not measured. It takes eight minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

interval=40s
peer=$(readlink -f .tools/bin/crossplane-kubernetes-provider)
dir=$(mktemp -d "${TMPDIR:-/tmp}/provider-kcp.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/crds"
for crd in "$(dirname "$peer")"/crds/*.yaml; do
	kubectl patch --local -f "$crd" --type=merge -p '{"spec":{"conversion":{"strategy":"None","webhook":null}}}' -o yaml > "$dir/crds/$(basename "$crd")"
done
cat > "$dir/peer" <<END
#!/bin/sh
for arg; do
	shift
	case \$arg in
	--kubeconfig=*) export KUBECONFIG="\${arg#--kubeconfig=}" ;;
	*) set -- "\$@" "\$arg" ;;
	esac
done
exec $peer --certs-dir= "\$@"
END
chmod +x "$dir/peer"
export TMPDIR=$dir
go build -o "$dir/bench" ./cluster/bench
measure() {
	printf '\n%s\n' "$1"
	shift
	"$dir/bench" -provider "$dir/peer" -crds "$dir/crds" -n "$n" "$@" objects
}
n=${1:-300}
measure 'WATCHES ON' -watch
measure "WATCHES ON, A POLL IN $interval" -watch -poll "$interval"
ENABLE_WATCHES=false measure "WATCHES OFF, A POLL IN $interval" -poll "$interval"
