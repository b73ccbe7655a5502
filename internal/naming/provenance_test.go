package naming_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// TestProvenance shows which rules make names and namespaces that no other workspace can have, and on which consumers decide.
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
			"The default namespace is the workspace's, and the name a hash that others have too.", nil, v1alpha1.ScopeNamespaced,
			who{provenance.Hash, false},
			who{provenance.Provider, true},
		},
		"DefaultWithoutNamespace": {
			"Without a namespace the name has the logical cluster.", nil, v1alpha1.ScopeCluster,
			who{provenance.Hash, true},
			who{provenance.Provider, true},
		},
		"Placeholders": {
			"The documented example of api-syncagent keeps workspaces apart by names.",
			&v1alpha1.ResourceNaming{Namespace: "kube-system", Name: "$remoteClusterName-$remoteNamespaceHash-$remoteNameHash"},
			v1alpha1.ScopeNamespaced,
			who{provenance.Hash, true},
			who{provenance.Provider, false},
		},
		"Names": {
			"Names are the consumer's.", &v1alpha1.ResourceNaming{Namespace: "$remoteNamespace", Name: "a-$remoteName"},
			v1alpha1.ScopeNamespaced,
			who{provenance.Consumer, false},
			who{provenance.Consumer, false},
		},
		"Path": {
			"Flattened paths of two workspaces can be one.", &v1alpha1.ResourceNaming{Namespace: `{{ .ClusterPath | toString | replace ":" "-" }}`, Name: "$x"},
			v1alpha1.ScopeNamespaced,
			who{provenance.Provider, false},
			who{provenance.Consumer, false},
		},
		"HashedPath": {
			"Hashed ones cannot.", &v1alpha1.ResourceNaming{Namespace: `t-{{ .ClusterPath | toString | sha3short }}`, Name: "{{ .Object.metadata.uid }}"},
			v1alpha1.ScopeNamespaced,
			who{provenance.Provider, true},
			who{provenance.Hash, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := naming.New(tc.rules, tc.scope)
			if err != nil {
				t.Fatal(err)
			}
			name, namespace := n.Provenance()
			got := []who{{name.Source, name.Unique}, {namespace.Source, namespace.Unique}}
			if diff := cmp.Diff([]who{tc.name, tc.namespace}, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
