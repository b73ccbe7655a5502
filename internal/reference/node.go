package reference

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// A node names an Object or, without a name, all Objects of a namespace.
type node struct {
	kind schema.GroupKind
	name types.NamespacedName
}

// key returns the value of a node in the index.
func (n node) key() string { return n.kind.String() + "/" + n.name.String() }

// kindOf returns the kind of a pinned resource.
func kindOf(p commonv1.PinnedReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(p.APIVersion, p.Kind)
}

// nameOf returns the namespace and name of a pinned resource.
func nameOf(p commonv1.PinnedReference) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// pinOf returns the record of a resource that an Object refers to.
func pinOf(gvk schema.GroupVersionKind, o metav1.Object) commonv1.PinnedReference {
	return commonv1.PinnedReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(),
	}
}

// pinned returns the node of a pinned Object.
func pinned(p commonv1.PinnedReference) node { return node{kindOf(p).GroupKind(), nameOf(p)} }

// describe names a resource for users.
func describe(kind string, n types.NamespacedName) string {
	return kind + " " + cache.NamespacedNameAsObjectName(n).String()
}
