#!/usr/bin/env bash
# Shows the provider at work on real servers: a control plane, a remote cluster and a kcp. Run it by `make demo`.
#
# Every command it prints with a $ is the one it runs. All files are in a temporary folder, and nothing it has started outlives it.
# DEMO=keep leaves all up once everything is applied, until Ctrl-C.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PROVIDER=${PROVIDER:-_output/bin/provider}
export PATH=$PWD/.tools/bin:$PATH

# What is applied to show the provider, in this order. There is more in the same folders.
configs=(
	-f examples/providerconfig/remote-cluster.yaml
	-f examples/providerconfig/kcp-workspace.yaml
	-f examples/providerconfig/cluster-providerconfig.yaml
	-f examples/providerconfig/namespaced.yaml
)
objects=(
	-f examples/object/namespace.yaml
	-f examples/object/deployment.yaml
	-f examples/object/configmap.yaml
	-f examples/object/kcp-configmap.yaml
	-f examples/object/kcp-apibinding.yaml
	-f examples/object/namespaced-configmap.yaml
	-f examples/object/namespaced-kcp-configmap.yaml
)
both_scopes=objects,objects.kubernetes.m.crossplane.io

# Chapters of their own.
. cluster/local/demo-publish.sh
. cluster/local/demo-application.sh

dir='' # the temporary folder
provider=''
step=0
seen=0 # how many lines of the watch on the remote ConfigMap are shown

main() {
	command -v kubectl >/dev/null && [ -x "$PROVIDER" ] || die 'build the servers and the provider first: make tools build'
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	umask 077
	dir=$(mktemp -d "${TMPDIR:-/tmp}/provider-kcp.XXXXXX")

	start_servers
	name_contexts
	make_workspaces
	install_crds
	start_provider
	connect
	apply_objects
	show_targets
	publish
	whitelabel
	certify
	start_application
	if [ "${DEMO:-}" = keep ]; then
		stay
		return
	fi
	drift
	delete_config_in_use
	uncertify
	withdraw
	delete_application
	delete_objects
	show_clean
	say "Done after $SECONDS s."
}

# Output.

say() { printf '\n%s\n' "$*"; }

title() {
	step=$((step + 1))
	say "== $step. $*"
}

# run prints a command as one would type it, and runs it.
run() {
	show_command "$@"
	"$@"
}

show_command() {
	local word line='$'
	for word in "$@"; do
		case $word in *[!A-Za-z0-9_./:=,@-]*) word="'$word'" ;; esac
		line+=" $word"
	done
	printf '%s\n' "$line"
}

die() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# Processes.

# launch starts a command in a process group of its own, so that Ctrl-C reaches this script only, which then stops all in order. Its
# output goes to a file, the id of its process and group to $!.
launch() {
	local log=$1
	shift
	: >"$log"
	set -m
	"$@" >"$log" 2>&1 </dev/null &
	set +m
}

# alive dies with the end of a log if its process has ended.
alive() {
	kill -0 "$1" 2>/dev/null || die "$2 has ended: $(tail -n 5 "$3")"
}

# stop asks what was launched to end, kills it if it does not, and returns when it is gone.
stop() {
	local i
	[ -n "$1" ] || return 0
	kill -TERM -- "-$1" 2>/dev/null || true
	for ((i = 0; i < $2 * 10; i++)); do
		kill -0 -- "-$1" 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL -- "-$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
}

clean_up() {
	local code=$? job
	trap '' INT TERM HUP # a second Ctrl-C must not leave processes behind
	case $code in
	0 | 130 | 143) say 'Stopping all processes.' ;;
	*) explain >&2 ;;
	esac
	stop "$provider" 30
	for job in $(jobs -p); do stop "$job" 90; done # also one that Ctrl-C left without a name
	case $code in
	0 | 130 | 143) rm -rf "$dir" ;;
	*)
		find "$dir" ! -name '*.log' -delete 2>/dev/null || true
		printf '\ndemo: failed; all logs are in %s\n' "$dir" >&2
		;;
	esac
}

# explain shows what is known when a step has failed.
explain() {
	local conditions='{range .items[*]}{.metadata.name}{range .status.conditions[*]}{"\n  "}{.type}={.status} {.reason} {.message}{end}{"\n"}{end}'
	[ -f "$dir/provider.log" ] || return 0
	printf '\ndemo: conditions of the Objects and PublishedResources:\n'
	kubectl get "$both_scopes,publishedresources" --all-namespaces --request-timeout=5s -o jsonpath="$conditions" || true
	printf '\ndemo: end of the log of the provider:\n'
	tail -n 20 "$dir/provider.log"
	printf '\ndemo: end of the log of cluster/local:\n'
	tail -n 5 "$dir/local.log"
}

# Steps.

start_servers() {
	local servers shown=0 now
	title 'Start a control plane, a remote cluster and a kcp. Half a minute, most of it for kcp.'
	run go build -o "$dir/local" ./cluster/local/cmd/local
	set -- "$dir/local" up --dir "$dir" --clusters control,remote --kcp --controller-manager
	show_command "$@"
	launch "$dir/local.log" "$@"
	servers=$!
	until [ -e "$dir/ready" ]; do
		alive "$servers" cluster/local "$dir/local.log"
		sleep 0.2
		now=$(($(wc -l <"$dir/local.log")))
		[ "$now" -eq "$shown" ] || sed -n "$((shown + 1)),${now}p" "$dir/local.log" | grep -v '^all ' || true
		shown=$now
	done
}

# name_contexts makes one kubeconfig with a context for each server, and one for each workspace.
name_contexts() {
	local name files=''
	for name in control remote kcp; do
		sed "s/: local\$/: $name/" "$dir/$name.kubeconfig" >"$dir/$name.context"
		files+=:$dir/$name.context
	done
	for name in demo "${workspaces[@]}"; do
		sed "s,/clusters/root\$,/clusters/root:$name,; s/: kcp\$/: ${name/#demo/workspace}/" "$dir/kcp.context" >"$dir/$name.context"
		files+=:$dir/$name.context
	done
	KUBECONFIG=${files#:} kubectl config view --flatten >"$dir/kubeconfig"
	# Neither files in the home folder nor the user's own preferences of kubectl have a part in this.
	export KUBECONFIG=$dir/kubeconfig KUBECACHEDIR=$dir/cache KUBERC=off
	printf '$ export KUBECONFIG=%s\n' "$KUBECONFIG"
	run kubectl config get-contexts -o name
}

make_workspaces() {
	title 'Create workspaces in kcp: root:demo for a start, and one of a service with two of its consumers for later.'
	run kubectl --context kcp create -f cluster/local/demo-workspaces.yaml
	run kubectl --context kcp wait --for='jsonpath={.status.phase}=Ready' workspaces --all --timeout=60s
	run kubectl --context kcp get workspaces
}

install_crds() {
	title 'Install the CustomResourceDefinitions of the provider on the control plane.'
	run kubectl apply -f package/crds
	kubectl wait --for=condition=Established -f package/crds --timeout=30s >/dev/null
}

start_provider() {
	local health i
	title 'Run the provider, outside of the clusters, with a kubeconfig of the control plane.'
	health=$(free_port)
	set -- "$PROVIDER" --kubeconfig "$dir/control.kubeconfig" \
		--health-probe-bind-addr "127.0.0.1:$health" --metrics-bind-address "127.0.0.1:$(free_port)"
	show_command "$@"
	launch "$dir/provider.log" "$@"
	provider=$!
	for ((i = 0; i < 150; i++)); do
		alive "$provider" provider "$dir/provider.log"
		if kubectl --server "http://127.0.0.1:$health" get --raw /readyz >/dev/null 2>&1; then
			run kubectl --server "http://127.0.0.1:$health" get --raw /readyz
			echo
			return
		fi
		sleep 0.2
	done
	die 'the provider is not ready after 30 s'
}

# free_port prints a port that nobody listens on, below those that systems give to outgoing connections.
free_port() {
	local port
	while port=$((20000 + RANDOM % 12000)) && (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
	echo "$port"
}

connect() {
	title 'Tell the provider how to reach the remote cluster and the workspace: kubeconfigs in Secrets, and ProviderConfigs.'
	run kubectl create namespace crossplane-system
	run kubectl create secret generic remote-kubeconfig -n crossplane-system --from-file="kubeconfig=$dir/remote.kubeconfig"
	run kubectl create secret generic kcp-kubeconfig -n crossplane-system --from-file="kubeconfig=$dir/kcp.kubeconfig"
	run kubectl create secret generic kcp-kubeconfig -n default --from-file="kubeconfig=$dir/kcp.kubeconfig"
	run kubectl apply "${configs[@]}"
	run kubectl get providerconfigs -o wide
	run kubectl get clusterproviderconfigs,providerconfigs.kubernetes.m.crossplane.io --all-namespaces -o wide
}

apply_objects() {
	title 'Apply Objects, cluster-scoped and namespaced, and wait until they are Ready.'
	run kubectl apply "${objects[@]}"
	run kubectl wait --for=condition=Ready "$both_scopes" --all --timeout=60s
	run kubectl get objects
	run kubectl get objects.kubernetes.m.crossplane.io --all-namespaces
}

show_targets() {
	local live=.status.atProvider.manifest.status
	title 'See that the status of an Object follows its resource. No node runs pods here, so none becomes available.'
	run kubectl wait --for="jsonpath={$live.replicas}=2" object/web --timeout=30s
	run kubectl get object web -o custom-columns="OBJECT:.metadata.name,REPLICAS:$live.replicas,AVAILABLE:$live.availableReplicas"

	title 'See what is on the remote cluster and in the workspace.'
	run kubectl --context remote get deployments,pods,configmaps -n demo
	run kubectl --context workspace get configmaps -n default
	run kubectl --context workspace get apibinding cache
}

stay() {
	title 'All is up, and stays up until Ctrl-C. In another terminal:'
	cat <<-END
		cd $PWD
		export PATH=$PWD/.tools/bin:\$PATH KUBECONFIG=$KUBECONFIG KUBECACHEDIR=$KUBECACHEDIR
		kubectl get objects                                           # the control plane
		kubectl --context remote get all,cm -n demo                   # the remote cluster
		kubectl --context workspace get cm                            # the kcp workspace root:demo
		kubectl --context team-a get certificates,secrets             # a consumer of the service
		kubectl get certificates,secrets -A                           # the service cluster, which is the control plane here
		kubectl --context team-a api-resources --api-group=certs.example.com
		kubectl edit publishedresource sertifikater                   # reaches all who have bound it at once
		kubectl get kubernetesapplications,kubernetesapplicationresources -n complex
		kubectl --context remote delete cm greeting -n demo           # is back at once
		kubectl edit object greeting                                  # reaches the remote cluster at once
		kubectl apply -f examples/object/pod.yaml                     # more examples are beside it
		tail -f $dir/provider.log
	END
	trap 'exit 0' INT
	wait "$provider" || true
	die 'the provider has ended'
}

drift() {
	local watcher
	title 'Delete the remote ConfigMap behind the back of the provider. A watch takes the time at which each event reaches it.'
	start_watch
	watcher=$!
	show_events 1
	run kubectl --context remote delete configmap greeting -n demo
	show_events 2

	title 'Change a field that the Object sets, and add one that it does not set.'
	run kubectl --context remote patch configmap greeting -n demo -p '{"data":{"message":"edited by hand","note":"mine"}}'
	show_events 2
	stop "$watcher" 5
	run kubectl --context remote get configmap greeting -n demo -o 'jsonpath={.data}'
	echo
}

# start_watch watches the remote ConfigMap, and keeps the time at which each line of the watch arrives.
start_watch() {
	set -- kubectl --context remote get configmap greeting -n demo --watch --output-watch-events --no-headers \
		-o 'custom-columns=EVENT:.type,UID:.object.metadata.uid,MESSAGE:.object.data.message'
	show_command "$@"
	launch "$dir/events" stamped "$@"
}

stamped() { "$@" | while IFS= read -r line; do printf '%s %s\n' "$(micros)" "$line"; done; }

# micros prints the time in microseconds, or 0 if this bash is too old to know it.
micros() {
	local t=${EPOCHREALTIME:-0}
	printf '%s' "${t//[.,]/}"
}

# show_events waits for some more lines of the watch and prints them, with the time since the one before.
show_events() {
	local i last=0 after at event uid message
	for ((i = 0; i < 300 && $(wc -l <"$dir/events") < seen + $1; i++)); do sleep 0.1; done
	[ "$(wc -l <"$dir/events")" -ge $((seen + $1)) ] || die "the watch saw nothing for 30 s: $(cat "$dir/events")"
	while read -r at event uid message; do
		after=''
		[ "$last" = 0 ] || after="$(((at - last + 500) / 1000)) ms later"
		printf '%14s  %-9s %s  %s\n' "$after" "$event" "$uid" "$message"
		last=$at
	done < <(sed -n "$((seen + 1)),$((seen + $1))p" "$dir/events")
	seen=$((seen + $1))
}

delete_config_in_use() {
	title 'Delete a ProviderConfig. It stays while Objects use it.'
	run kubectl delete providerconfig remote --wait=false
	run kubectl wait --for=condition=Terminating providerconfig/remote --timeout=30s
	run kubectl get providerconfig remote -o \
		custom-columns='NAME:.metadata.name,USERS:.status.users,WHY IT STAYS:.status.conditions[?(@.type=="Terminating")].message'
}

delete_objects() {
	title 'Delete the Objects. Each goes when its resource has gone; a Namespace takes a few seconds.'
	run kubectl delete "${objects[@]}" --timeout=90s
	run kubectl wait --for=delete providerconfig/remote --timeout=30s
}

show_clean() {
	title 'See that nothing is left on the targets.'
	run kubectl --context remote get namespaces
	run kubectl --context remote get deployments,configmaps --all-namespaces -l kubernetes.crossplane.io/managed=true
	run kubectl --context workspace get apibindings,configmaps --all-namespaces -l kubernetes.crossplane.io/managed=true
}

main "$@"
