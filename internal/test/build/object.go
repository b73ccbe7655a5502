package build

import (
	"encoding/json"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
)

// A Manifest is any Kubernetes resource as nested maps.
type Manifest map[string]any

// ConfigMap returns the manifest of a ConfigMap. data lists keys and values in turn.
func ConfigMap(namespace, name string, data ...string) Manifest {
	d := map[string]any{}
	for i := 0; i+1 < len(data); i += 2 {
		d[data[i]] = data[i+1]
	}
	return Manifest{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"data":     d,
	}
}

// An Object is an Object of either scope.
type Object interface {
	client.Object
	SetConditions(c ...xpv2.Condition)
	GetCondition(t xpv2.ConditionType) xpv2.Condition
	SetManagementPolicies(p xpv2.ManagementPolicies)
	Desired() *commonv1.ObjectSpec
	Observed() *commonv1.ObjectObservation
}

// A Scope makes the resources of one scope, so that a table of tests can run for both.
type Scope struct {
	// Name of the scope, for the names of tests.
	Name string
	// Resource is what Objects are in a request.
	Resource schema.GroupResource
	// New returns an empty Object.
	New func() Object
	// NewList returns an empty list of Objects.
	NewList func() client.ObjectList
	// Object returns an Object that keeps a manifest on the target of a ProviderConfig.
	Object func(namespace, name, config string, m Manifest) Object
	// Config returns a ProviderConfig.
	Config func(namespace, name string, spec commonv1.ProviderConfigSpec) client.Object
	// NewUsageList returns an empty list of the records of the use of ProviderConfigs.
	NewUsageList func() client.ObjectList
}

// Scopes returns both scopes. Objects of the namespaced scope refer to ProviderConfigs of their own namespace.
func Scopes() []Scope { return []Scope{Cluster(), Namespaced()} }

// Cluster returns the cluster scope. It ignores namespaces.
func Cluster() Scope {
	return Scope{
		Name:         "Cluster",
		Resource:     schema.GroupResource{Group: objectv1alpha2.GroupVersion.Group, Resource: "objects"},
		New:          func() Object { return &objectv1alpha2.Object{} },
		NewList:      func() client.ObjectList { return &objectv1alpha2.ObjectList{} },
		NewUsageList: func() client.ObjectList { return &pcv1alpha1.ProviderConfigUsageList{} },
		Object: func(_, name, config string, m Manifest) Object {
			o := &objectv1alpha2.Object{ObjectMeta: metav1.ObjectMeta{Name: name}}
			o.Spec.ProviderConfigReference = &xpv2.Reference{Name: config}
			o.Spec.ForProvider.Manifest = Raw(m)
			return o
		},
		Config: func(_, name string, spec commonv1.ProviderConfigSpec) client.Object {
			return &pcv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
		},
	}
}

// Namespaced returns the namespaced scope.
func Namespaced() Scope {
	return Scope{
		Name:         "Namespaced",
		Resource:     schema.GroupResource{Group: mobjectv1alpha1.GroupVersion.Group, Resource: "objects"},
		New:          func() Object { return &mobjectv1alpha1.Object{} },
		NewList:      func() client.ObjectList { return &mobjectv1alpha1.ObjectList{} },
		NewUsageList: func() client.ObjectList { return &mpcv1alpha1.ProviderConfigUsageList{} },
		Object: func(namespace, name, config string, m Manifest) Object {
			o := &mobjectv1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			o.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: config}
			o.Spec.ForProvider.Manifest = Raw(m)
			return o
		},
		Config: func(namespace, name string, spec commonv1.ProviderConfigSpec) client.Object {
			return &mpcv1alpha1.ProviderConfig{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec,
			}
		},
	}
}

// ClusterConfig returns a ClusterProviderConfig, which resources of some namespaces may use: of all without a list.
func ClusterConfig(
	name string, spec commonv1.ProviderConfigSpec, allowed ...commonv1.AllowedNamespaces,
) *mpcv1alpha1.ClusterProviderConfig {
	return &mpcv1alpha1.ClusterProviderConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       mpcv1alpha1.ClusterProviderConfigSpec{ProviderConfigSpec: spec, AllowedNamespaces: allowed},
	}
}

// Through makes a namespaced Object refer to a ClusterProviderConfig.
func Through(o Object, name string) Object {
	if namespaced, ok := o.(*mobjectv1alpha1.Object); ok {
		namespaced.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: name}
	}
	return o
}

// Meta returns the metadata of a resource.
func Meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// Raw returns a manifest as API types hold it. It panics if the manifest holds what JSON cannot.
func Raw(m Manifest) runtime.RawExtension {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return runtime.RawExtension{Raw: b}
}

// Credentials returns a Secret that FromSecret reads.
func Credentials(namespace, name string, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: Meta(namespace, name), Data: map[string][]byte{"kubeconfig": kubeconfig}}
}

// FromSecret returns the spec of a ProviderConfig that takes its kubeconfig from the key kubeconfig of a Secret.
func FromSecret(namespace, name string) commonv1.ProviderConfigSpec {
	return commonv1.ProviderConfigSpec{Credentials: commonv1.ProviderCredentials{
		Source: xpv2.CredentialsSourceSecret,
		CommonCredentialSelectors: xpv2.CommonCredentialSelectors{SecretRef: &xpv2.SecretKeySelector{
			SecretReference: xpv2.SecretReference{Namespace: namespace, Name: name}, Key: "kubeconfig",
		}},
	}}
}

// Nested returns a value of so many levels of JSON. It consists of lists: of maps, API servers record who owns which
// level, which takes them minutes.
func Nested(levels int) any {
	value := []any{}
	for range levels - 1 {
		value = []any{value}
	}
	return value
}
