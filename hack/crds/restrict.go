package main

import (
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// policiesMost bounds the list of policies, so that the cost of its rule has a bound. There are six of them.
const policiesMost = 16

// policiesRule is what crossplane-runtime supports.
const policiesRule = "self.all(p, p == '*') || 'Observe' in self && !('*' in self) && " +
	"!('Delete' in self && !('Create' in self) && ('Update' in self || 'LateInitialize' in self))"

const policiesMessage = `managementPolicies must be ["*"], [], or Observe with any of Create, Update, ` +
	"Delete and LateInitialize; Delete together with Update or LateInitialize needs Create"

// restrict has the control plane refuse values of a field that can only fail.
func restrict(field string, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	switch field {
	case "providerConfigRef":
		if kind, ok := properties["kind"].(map[string]any); ok {
			kind["enum"] = []any{"ProviderConfig", "ClusterProviderConfig"}
		}
	case "managementPolicies":
		if schema["type"] != "array" {
			return
		}
		schema["maxItems"] = policiesMost
		schema["x-kubernetes-validations"] = []any{map[string]any{"rule": policiesRule, "message": policiesMessage}}
	}
}

// namespacedConfigs has the schema of ProviderConfigs of namespaces, which no PublishedResource can refer to.
const namespacedConfigs = "kubernetes.m.crossplane.io_providerconfigs.yaml"

// drop removes the fields of a definition that nothing reads there, although other kinds share their type.
func drop(file string, crd map[string]any) error {
	if file != namespacedConfigs {
		return nil
	}
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil {
		return errors.Wrap(err, "cannot read the versions")
	}
	for _, v := range versions {
		version, _ := v.(map[string]any)
		kcp := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "kcp"}
		for _, field := range []string{"apiExport", "agentName"} {
			unstructured.RemoveNestedField(version, append(kcp, "properties", field)...)
		}
		err := unstructured.SetNestedField(version, "kcp points the kubeconfig at a workspace of kcp.",
			append(kcp, "description")...)
		if err != nil {
			return errors.Wrap(err, "cannot describe kcp")
		}
	}
	return errors.Wrap(unstructured.SetNestedSlice(crd, versions, "spec", "versions"), "cannot write the versions")
}
