package main

// policiesMost bounds the list of policies, so that the cost of its rule has a bound. There are six of them.
const policiesMost = 16

// policiesRule is what crossplane-runtime supports.
const policiesRule = "self.all(p, p == '*') || 'Observe' in self && !('*' in self) && " +
	"!('Delete' in self && !('Create' in self) && ('Update' in self || 'LateInitialize' in self))"

const policiesMessage = `managementPolicies must be ["*"], [], or Observe with any of Create, Update, ` +
	"Delete and LateInitialize; Delete together with Update or LateInitialize needs Create"

// restrict has the control plane refuse values of a field that can only fail, and names what is in a manifest as far as
// Objects are selected by it.
func restrict(field string, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	switch field {
	case "providerConfigRef":
		if kind, ok := properties["kind"].(map[string]any); ok {
			kind["enum"] = []any{"ProviderConfig", "ClusterProviderConfig"}
		}
	case "manifest":
		schema["properties"] = map[string]any{
			"apiVersion": map[string]any{"type": "string", "description": "apiVersion of the resource on the target."},
			"kind":       map[string]any{"type": "string", "description": "kind of the resource on the target."},
		}
	case "managementPolicies":
		if schema["type"] != "array" {
			return
		}
		schema["maxItems"] = policiesMost
		schema["x-kubernetes-validations"] = []any{map[string]any{"rule": policiesRule, "message": policiesMessage}}
	}
}

// otherConfigs have the schemas of ProviderConfigs to which no PublishedResource can refer.
var otherConfigs = []string{
	"kubernetes.crossplane.io_providerconfigs.yaml", "kubernetes.m.crossplane.io_providerconfigs.yaml",
}

// drop removes from a schema of ProviderConfigs what only PublishedResources read.
func drop(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, ok := s["workspacePath"]; ok {
			delete(s, "apiExport")
			delete(s, "agentName")
		}
		for _, v := range s {
			drop(v)
		}
	case []any:
		for _, v := range s {
			drop(v)
		}
	}
}
