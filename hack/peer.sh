#!/usr/bin/env bash
# Counts the requests of provider-kubernetes for each new Object, on the servers of make bench: hack/peer.sh [OBJECTS]. The program comes from
# make tools.e2e. Its webhook gets a certificate that nobody asks for, as the versions of Object need no conversion here. The rest of the
# benchmark does not run: the peer reverts drift when it next polls.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

peer=$(readlink -f .tools/bin/crossplane-kubernetes-provider)
dir=$(mktemp -d "${TMPDIR:-/tmp}/provider-kcp.XXXXXX")
bench=
trap '[ -z "$bench" ] || kill "$bench" 2>/dev/null || true; rm -rf "$dir"' EXIT
mkdir "$dir/crds" "$dir/tls"
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=peer -keyout "$dir/tls/tls.key" -out "$dir/tls/tls.crt" 2>/dev/null
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
TLS_SERVER_CERTS_DIR=$dir/tls exec $peer "\$@"
END
chmod +x "$dir/peer"
n=${1:-300}
export TMPDIR=$dir
go build -o "$dir/bench" ./cluster/bench
"$dir/bench" -provider "$dir/peer" -crds "$dir/crds" -n "$n" objects 2> "$dir/progress" &
bench=$!
until grep -q 'single new Objects' "$dir/progress"; do
	kill -0 "$bench" 2>/dev/null || { cat "$dir/progress" >&2; exit 1; }
	sleep 0.2
done
for server in 'control plane' target; do
	requests=$(grep '"stage":"ResponseComplete"' "$dir"/bench-*/"$server"/audit.log | grep '"username":"provider"' | grep -cv '"verb":"watch"')
	echo "requests to the $server for each of $n new Objects: $(awk "BEGIN {printf \"%.1f\", $requests / $n}")"
done
kill "$bench"
wait "$bench" 2>/dev/null || true
bench=
