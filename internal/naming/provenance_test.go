package naming_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// TestProvenance shows which rules make names and namespaces that no other workspace can have, and on which consumers
// decide.
func TestProvenance(t *testing.T) {
	type who struct {
		Source provenance.Source
		Unique bool
	}
	for name, tc := range map[string]struct {
		reason          string
		rules           *v1alpha1.ResourceNaming
		scope           v1alpha1.ResourceScope
		name, namespace who
	}{
		"Default": {
			reason: "The default namespace is the workspace's, and the name a hash that others have too.", rules: nil,
			scope:     v1alpha1.ScopeNamespaced,
			name:      who{provenance.Hash, false},
			namespace: who{provenance.Provider, true},
		},
		"DefaultWithoutNamespace": {
			reason: "Without a namespace the name has the logical cluster.", rules: nil, scope: v1alpha1.ScopeCluster,
			name:      who{provenance.Hash, true},
			namespace: who{provenance.Consumer, false},
		},
		"Placeholders": {
			reason: "The documented example of api-syncagent keeps workspaces apart by names.",
			rules: &v1alpha1.ResourceNaming{
				Namespace: "kube-system", Name: "$remoteClusterName-$remoteNamespaceHash-$remoteNameHash",
			},
			scope:     v1alpha1.ScopeNamespaced,
			name:      who{provenance.Hash, true},
			namespace: who{provenance.Provider, false},
		},
		"Names": {
			reason:    "Names are the consumer's.",
			rules:     &v1alpha1.ResourceNaming{Namespace: "$remoteNamespace", Name: "a-$remoteName"},
			scope:     v1alpha1.ScopeNamespaced,
			name:      who{provenance.Consumer, false},
			namespace: who{provenance.Consumer, false},
		},
		"Path": {
			reason: "Flattened paths of two workspaces can be one.",
			rules: &v1alpha1.ResourceNaming{
				Namespace: `{{ .ClusterPath | toString | replace ":" "-" }}`, Name: "$x",
			},
			scope:     v1alpha1.ScopeNamespaced,
			name:      who{provenance.Provider, false},
			namespace: who{provenance.Consumer, false},
		},
		"HashedPath": {
			reason: "And another workspace can have the same path later.",
			rules: &v1alpha1.ResourceNaming{
				Namespace: `t-{{ .ClusterPath | toString | sha3short }}`, Name: "{{ .Object.metadata.uid }}",
			},
			scope:     v1alpha1.ScopeNamespaced,
			name:      who{provenance.Provider, true},
			namespace: who{provenance.Hash, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := naming.New(tc.rules, tc.scope)
			if err != nil {
				t.Fatal(err)
			}
			name, namespace := n.Provenance()
			got := []who{{
				Source: name.Source,
				Unique: name.Unique,
			}, {
				Source: namespace.Source,
				Unique: namespace.Unique,
			}}
			if diff := cmp.Diff([]who{tc.name, tc.namespace}, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
