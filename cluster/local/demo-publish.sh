# The chapter of the demo about publishing APIs to kcp. For demo.sh, which reads it.

workspaces=(services team-a team-b) # below root: the one that offers APIs, and two that use them
consumers=("${workspaces[@]:1}")
certificates=internal/projection/testdata/certificates.cert-manager.io.yaml # as cert-manager ships it
published=(publishedresource/certificates publishedresource/sertifikater)

publish() {
	local team
	title 'Publish an API in kcp: the Certificates of cert-manager, of which the control plane has the definition.'
	run kubectl apply -f "$certificates"
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
	run kubectl delete -f examples/publish/workspace.yaml -f "$certificates" --timeout=60s
}
