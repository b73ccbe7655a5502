package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

func TestRank(t *testing.T) {
	own := func(name string) clusterRef {
		return clusterRefOf("ns", workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: name})
	}
	shared := func(name string) clusterRef {
		return clusterRefOf("ns", workloadv1alpha1.ClusterReference{Kind: "ClusterProviderConfig", Name: name})
	}
	for name, tc := range map[string]struct {
		reason string
		load   map[clusterRef]int
		want   []clusterRef
	}{
		"Equal": {
			reason: "Of equals those of the namespace come first, then the order is that of names.",
			want:   []clusterRef{own("a"), own("b"), shared("a"), shared("c")},
		},
		"Loaded": {
			reason: "The fewer applications a cluster has, the earlier it comes.",
			load:   map[clusterRef]int{own("a"): 2, own("b"): 1, shared("a"): 1},
			want:   []clusterRef{shared("c"), own("b"), shared("a"), own("a")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := []clusterRef{shared("c"), own("b"), shared("a"), own("a")}
			rank(got, tc.load)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(clusterRef{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
