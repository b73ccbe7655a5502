package scope

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// Keys of ProviderConfigs called a and b.
const (
	clusterA    = "ProviderConfig.kubernetes.crossplane.io//a"
	namespacedA = "ProviderConfig.kubernetes.m.crossplane.io/ns/a"
	sharedA     = "ClusterProviderConfig.kubernetes.m.crossplane.io//a"
	sharedB     = "ClusterProviderConfig.kubernetes.m.crossplane.io//b"
)

func TestHolder(t *testing.T) {
	a, ns := metav1.ObjectMeta{Name: "a"}, metav1.ObjectMeta{Namespace: "ns", Name: "a"}
	refA := xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "a"}
	refB := xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "b"}
	object := func(ref *xpv2.ProviderConfigReference, seen *xpv2.ProviderConfigReference, claim string) client.Object {
		o := &mobjectv1alpha1.Object{ObjectMeta: ns}
		o.Spec.ProviderConfigReference, o.Status.AtProvider.ProviderConfigReference = ref, seen
		if claim != "" {
			o.Annotations = map[string]string{commonv1.AnnotationKeyClaim: claim}
		}
		return o
	}
	old := &objectv1alpha2.Object{ObjectMeta: a}
	old.Spec.ProviderConfigReference = &xpv2.Reference{Name: "a"}
	oc := &collectionv1alpha1.ObservedObjectCollection{ObjectMeta: a}
	oc.Spec.ProviderConfigReference = &xpv2.Reference{Name: "a"}
	app := &workloadv1alpha1.KubernetesApplication{ObjectMeta: ns}
	app.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: "a"}
	res := &workloadv1alpha1.KubernetesApplicationResource{ObjectMeta: ns}
	res.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: "a"}
	pr := &publishedv1alpha1.PublishedResource{ObjectMeta: a}
	pr.Spec.ProviderConfigReference = &publishedv1alpha1.ConfigReference{Name: "b"}
	elsewhere := pr.DeepCopy()
	elsewhere.Spec.ServiceClusterConfigReference = &publishedv1alpha1.ConfigReference{Name: "a"}
	for name, tc := range map[string]struct {
		reason string
		o      client.Object
		want   string
	}{
		"New":       {reason: "A new Object is where its spec says.", o: object(&refA, nil, ""), want: sharedA},
		"NoRef":     {reason: "Without a reference it is in slot 0.", o: object(nil, nil, ""), want: ""},
		"Seen":      {reason: "One that moves is where its resource is.", o: object(&refB, &refA, sharedB), want: sharedA},
		"Claimed":   {reason: "One in the making is where it is claimed.", o: object(&refB, nil, sharedA), want: sharedA},
		"Cluster":   {reason: "So is a cluster-scoped one.", o: old, want: clusterA},
		"Collected": {reason: "A collection is where its target is.", o: oc, want: clusterA},
		"Config": {
			reason: "A ProviderConfig is where it says itself.",
			o:      &pcv1alpha1.ProviderConfig{ObjectMeta: a}, want: clusterA,
		},
		"NamespacedConfig": {
			reason: "Its namespace counts.",
			o:      &mpcv1alpha1.ProviderConfig{ObjectMeta: ns}, want: namespacedA,
		},
		"SharedConfig": {
			reason: "So does its kind.",
			o:      &mpcv1alpha1.ClusterProviderConfig{ObjectMeta: a}, want: sharedA,
		},
		"Application": {reason: "Applications are in slot 0.", o: app, want: ""},
		"Resource":    {reason: "Their resources are where their cluster is.", o: res, want: namespacedA},
		"Published":   {reason: "A PublishedResource is where its service cluster is.", o: pr, want: ""},
		"Elsewhere":   {reason: "That may be another cluster.", o: elsewhere, want: sharedA},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Holder(tc.o); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
