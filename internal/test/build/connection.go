package build

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

// WriteConnectionSecret makes an Object write a connection secret. In the namespaced scope that is in the namespace of
// the Object, whatever namespace is given.
func WriteConnectionSecret(o Object, n types.NamespacedName) {
	switch o := o.(type) {
	case *objectv1alpha2.Object:
		o.Spec.WriteConnectionSecretToReference = &xpv2.SecretReference{Namespace: n.Namespace, Name: n.Name}
	case *mobjectv1alpha1.Object:
		o.Spec.WriteConnectionSecretToReference = &xpv2.LocalSecretReference{Name: n.Name}
	}
}

// ConnectionDetail returns a connection detail that takes a field of a resource, of a kind of the core group, under a
// key.
func ConnectionDetail(from corev1.ObjectReference, key string) commonv1.ConnectionDetail {
	from.APIVersion = "v1"
	return commonv1.ConnectionDetail{ObjectReference: from, ToConnectionSecretKey: key}
}
