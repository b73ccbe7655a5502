package main

import "strings"

// A text replaces the description of fields.
type text struct {
	begins string // the description it replaces
	is     string
}

func texts() []text {
	return []text{
		{
			begins: "THIS IS A BETA FIELD. It is on by default but can be opted out\nthrough a Crossplane feature flag.\n" +
				"ManagementPolicies specify",
			is: "managementPolicies lists what the provider may do with the resource. The default, [\"*\"], " +
				"allows everything; an empty list pauses the Object.\n" +
				"Otherwise it lists Observe, and any of Create, Update and Delete; Delete and Update together need Create.\n" +
				"LateInitialize has no effect. deletionPolicy Orphan takes precedence over this list: nothing is deleted.",
		},
		{
			begins: "DeletionPolicy specifies what will happen to the underlying external",
			is: "deletionPolicy decides what happens to the resource when the Object is deleted. " +
				"Orphan keeps it, whatever managementPolicies\n" +
				"allow. With Delete, the default, managementPolicies decide.",
		},
		{
			begins: "A ManagementAction represents an action",
			is:     "A ManagementAction is an action that the provider may take on the resource.",
		},
		{
			begins: "ProviderConfigReference specifies how the provider that will be used to",
			is: "providerConfigRef names the ProviderConfig of the target, in the namespace of the Object if it has one, " +
				"or a\nClusterProviderConfig.",
		},
		{begins: "API version of the referent.", is: "apiVersion of the resource on the target."},
		{begins: "Kind of the referent.", is: "kind of the resource on the target."},
		{begins: "Name of the referent.", is: "name of the resource on the target."},
		{
			begins: "Namespace of the referent.",
			is:     "namespace of the resource on the target. A cluster-scoped resource has none.",
		},
		{
			begins: "If referring to a piece of an object instead of an entire object",
			is: "fieldPath is the field whose value is copied, for example data[tls.crt] or " +
				"status.loadBalancer.ingress[0].ip. It must be set.\nA field of data of a Secret is decoded.",
		},
		{
			begins: "Specific resourceVersion to which this reference is made",
			is:     "resourceVersion is accepted for compatibility with provider-kubernetes and has no effect.",
		},
		{
			begins: "UID of the referent.",
			is:     "uid is accepted for compatibility with provider-kubernetes and has no effect.",
		},
		{
			begins: "WriteConnectionSecretToReference specifies the namespace and name of a",
			is:     "writeConnectionSecretToRef names the Secret on the control plane that connectionDetails are written to.",
		},
	}
}

// identitySource is the text of the source of an identity, whose type it shares with the source of a kubeconfig.
const identitySource = "source of the credentials of the cloud: Secret, Environment and Filesystem provide " +
	"the input of type: JSON of Google or\nAzure, or a token of Google or Upbound. InjectedIdentity is the identity " +
	"of the provider itself, the only source of\nAWSWebIdentityCredentials. None is the same for " +
	"GoogleApplicationCredentials, and is invalid for other types."

// describeIdentity replaces the description of the source of an identity.
func describeIdentity(field string, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	if source, ok := properties["source"].(map[string]any); ok && field == "identity" {
		source["description"] = identitySource
	}
}

// replaceText replaces the description of a field, and notes which one it was.
func replaceText(schema map[string]any, used map[string]bool) {
	was, ok := schema["description"].(string)
	if !ok {
		return
	}
	for _, t := range texts() {
		if strings.HasPrefix(was, t.begins) {
			schema["description"], used[t.begins] = t.is, true
		}
	}
}
