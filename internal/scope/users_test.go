package scope

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

func TestRefs(t *testing.T) {
	cluster := &objectv1alpha2.Object{}
	cluster.SetProviderConfigReference(&xpv2.Reference{Name: "now"})
	cluster.Observed().ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "before"}
	settled := cluster.DeepCopy()
	settled.Observed().ProviderConfigReference.Name = "now"
	namespaced := &mobjectv1alpha1.Object{}
	namespaced.SetNamespace("team")
	namespaced.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "now"})
	namespaced.Observed().ProviderConfigReference = &xpv2.ProviderConfigReference{
		Kind: "ClusterProviderConfig", Name: "before",
	}
	own, shared := NamespacedScopeConfigs()[0], NamespacedScopeConfigs()[1]
	for name, tc := range map[string]struct {
		reason string
		config Config
		user   client.Object
		want   []client.ObjectKey
	}{
		"Moved": {
			reason: "Both the old and the new one are in use.",
			config: ClusterScopeConfig(),
			user:   cluster,
			want:   []client.ObjectKey{{Name: "now"}, {Name: "before"}},
		},
		"Settled": {
			reason: "One is counted once.",
			config: ClusterScopeConfig(),
			user:   settled,
			want:   []client.ObjectKey{{Name: "now"}},
		},
		"OwnKind": {
			reason: "It lives in the namespace of its users.",
			config: own,
			user:   namespaced,
			want:   []client.ObjectKey{{Namespace: "team", Name: "now"}},
		},
		"OtherKind": {
			reason: "It lives in none.",
			config: shared,
			user:   namespaced,
			want:   []client.ObjectKey{{Name: "before"}},
		},
		"None": {
			reason: "Nothing is referred to.",
			config: ClusterScopeConfig(),
			user:   &objectv1alpha2.Object{},
			want:   nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.config.Refs(tc.user)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
