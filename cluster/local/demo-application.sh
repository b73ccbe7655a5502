# The chapter of the demo about applications. For demo.sh, which reads it.

application=kubernetesapplication/wordpress-demo

start_application() {
	local watcher
	title 'Create an application: three manifests that go together to one cluster with a label. It waits, as there is none yet.'
	run kubectl create namespace complex
	run kubectl apply -f examples/applications/wordpress.yaml
	run kubectl -n complex wait --for='jsonpath={.status.state}=Pending' "$application" --timeout=30s

	title 'Connect two clusters with that label. A watch shows how far the application gets: it is scheduled to one of them, and submitted.'
	set -- kubectl -n complex get "$application" --watch
	show_command "$@"
	launch "$dir/application" "$@"
	watcher=$!
	run kubectl create secret generic wordpress-demo-cluster -n complex --from-file="kubeconfig=$dir/remote.kubeconfig"
	run kubectl create secret generic shared-cluster -n crossplane-system --from-file="kubeconfig=$dir/control.kubeconfig"
	run kubectl apply -f examples/applications/clusters.yaml
	run kubectl -n complex wait --for=condition=Ready "$application" --timeout=60s
	stop "$watcher" 5
	cat "$dir/application"
	run kubectl -n complex get kubernetesapplicationresource --selector app=wordpress-demo
	run kubectl --context remote -n wordpress get deployments,services,secrets
	say 'Nothing runs its pods here. make e2e has it on two clusters with nodes, where the Deployment becomes available.'
}

delete_application() {
	title 'Delete the application. It goes when nothing of it is left on its cluster.'
	run kubectl -n complex delete "$application" --timeout=60s
	run kubectl --context remote get namespace wordpress --ignore-not-found
	run kubectl delete -f examples/applications/clusters.yaml --timeout=60s
	run kubectl delete namespace complex --wait=false
}
