# The chapter of the demo about publishing APIs to kcp, and about the objects that consumers make of them. For demo.sh, which reads it.

workspaces=(services team-a team-b) # below root: the one that offers APIs, and two that use them
consumers=("${workspaces[@]:1}")
published=(publishedresource/certificates publishedresource/sertifikater)
issued=(secrets --all-namespaces -l controller.cert-manager.io/fao=true) # what cert-manager has issued
cert_manager='' # its process
definitions='' # the folder of its CustomResourceDefinitions

# start_cert_manager runs its controllers beside the cluster, by hack/tools/cert-manager. Left out is its webhook, which would only complete and
# check what is applied.
start_cert_manager() {
	definitions=$(dirname "$(readlink -f .tools/bin/cert-manager)")/cert-manager-crds
	title 'Run the controllers of cert-manager on the control plane, which is the service cluster here, too, with an issuer of self-signed certificates.'
	run kubectl apply --server-side -f "$definitions"
	kubectl wait --for=condition=Established -f "$definitions" --timeout=30s >/dev/null
	run kubectl apply -f examples/sync/issuer.yaml
	set -- cert-manager --kubeconfig "$dir/control.kubeconfig"
	show_command "$@"
	launch "$dir/cert-manager.log" "$@"
	cert_manager=$!
	run kubectl wait --for=condition=Ready clusterissuer/selfsigned --timeout=60s
	alive "$cert_manager" cert-manager "$dir/cert-manager.log"
}

publish() {
	local team
	start_cert_manager
	title 'Publish an API in kcp: the Certificates of cert-manager.'
	run kubectl apply -f examples/publish/workspace.yaml -f examples/publish/certificate.yaml
	run kubectl wait --for=condition=Ready publishedresource/certificates --timeout=60s
	run kubectl --context services get apiexports,apiresourceschemas

	title 'Bind it in the workspaces of two teams, which have the API from then on.'
	for team in "${consumers[@]}"; do
		run kubectl --context "$team" apply -f examples/publish/binding.yaml
	done
	for team in "${consumers[@]}"; do
		run kubectl --context "$team" wait --for='jsonpath={.status.phase}=Bound' apibinding/services --timeout=60s
		run kubectl --context "$team" api-resources --api-group=cert-manager.io
	done
	run kubectl wait --for=condition=ClaimsAccepted publishedresource/certificates --timeout=60s
	run kubectl get publishedresources -o wide
}

whitelabel() {
	local team
	title 'Publish the same API again under a name, a group and a version of its own. Both teams get it without doing anything.'
	run kubectl apply -f examples/publish/sertifikat.yaml
	run kubectl wait --for='jsonpath={.status.workspaces.bound}=2' publishedresource/sertifikater --timeout=60s
	for team in "${consumers[@]}"; do
		run kubectl --context "$team" api-resources --api-group=certs.example.com
	done
	run kubectl --context team-a explain sertifikat.spec.dnsNames
	run kubectl get publishedresources
}

certify() {
	local team
	title 'Create a Certificate in each workspace, as consumers do, both with the same name. The service cluster issues them.'
	for team in "${consumers[@]}"; do
		run kubectl --context "$team" apply -f examples/sync/consumer.yaml
	done
	for team in "${consumers[@]}"; do
		run kubectl --context "$team" wait --for=condition=Ready certificate/web --timeout=60s
	done

	title 'See the copies on the service cluster, in a namespace for each workspace, and the Secrets that cert-manager has made.'
	run kubectl get certificates --all-namespaces
	run kubectl get "${issued[@]}"

	title 'See that status and Secret are back in the workspaces, under the names that the consumers have chosen.'
	for team in "${consumers[@]}"; do
		run kubectl --context "$team" wait --for=create secret/web-tls --timeout=60s
		run kubectl --context "$team" get certificates,secrets
	done
	show_same_certificates
	run kubectl --context team-a get events --field-selector involvedObject.name=web -o custom-columns=REASON:.reason,MESSAGE:.message
	run kubectl get publishedresources

	title 'Change one. The service cluster issues it again, and the Secret above follows.'
	run kubectl --context team-a patch certificate web --type merge -p '{"spec":{"dnsNames":["web.example.com","shop.example.com"]}}'
	run kubectl --context team-a wait --for='jsonpath={.status.revision}=2' certificate/web --timeout=60s
	show_same_certificates
}

# show_same_certificates prints checksums of the certificates above and below, and waits until they are the same.
show_same_certificates() {
	local team i above='' below=''
	for ((i = 0; i < 150; i++)); do
		above=$(for team in "${consumers[@]}"; do certificates_of "$team" secrets; done | sort)
		below=$(certificates_of control "${issued[@]}" | sort)
		[ "$above" != "$below" ] || break
		sleep 0.2
	done
	[ "$above" = "$below" ] || die 'the certificates above are not those below'
	printf 'Checksums of the certificates, the same above and below:\n%s\n' "$above"
}

# certificates_of prints a checksum for each certificate that Secrets of a context hold.
certificates_of() {
	local context=$1 certificate
	shift
	kubectl --context "$context" get "$@" -o 'jsonpath={range .items[?(@.type=="kubernetes.io/tls")]}{.data.tls\.crt}{"\n"}{end}' |
		while IFS= read -r certificate; do cksum <<<"$certificate"; done
}

uncertify() {
	local team
	title 'Delete the Certificates. Each goes when its copy has gone, and the Secret above goes with it.'
	for team in "${consumers[@]}"; do
		run kubectl --context "$team" delete -f examples/sync/consumer.yaml --timeout=60s
		run kubectl --context "$team" get certificates,secrets
	done
	run kubectl get certificates --all-namespaces
	kubectl wait --for=delete "${issued[@]}" --timeout=60s >/dev/null
	run kubectl get "${issued[@]}"
	run kubectl get secrets --all-namespaces -l syncagent.kcp.io/object-state=true
}

withdraw() {
	local team
	title 'Withdraw the APIs, and unbind them. Without deletionPolicy Delete all would stay in kcp as it is.'
	run kubectl patch "${published[@]}" --type merge -p '{"spec":{"deletionPolicy":"Delete"}}'
	run kubectl delete "${published[@]}" --timeout=60s
	run kubectl --context services get apiexport services.example.com -o \
		'custom-columns=EXPORT:.metadata.name,RESOURCES:.spec.resources[*].name,CLAIMS:.spec.permissionClaims[*].resource'
	for team in "${consumers[@]}"; do
		run kubectl --context "$team" delete apibinding services --timeout=60s
	done
	stop "$cert_manager" 30
	run kubectl delete -f examples/publish/workspace.yaml -f "$definitions" --timeout=60s
}
