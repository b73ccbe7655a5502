package mutation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// TestProvenance shows who decides on field spec.name after steps, where the name of the object on the other side is
// unique.
func TestProvenance(t *testing.T) {
	own := provenance.Value{Source: provenance.Hash, Unique: true}
	template := func(path v1alpha1.MutationPath, text string) v1alpha1.ResourceMutation {
		return v1alpha1.ResourceMutation{Template: &v1alpha1.TemplateMutation{Path: path, Template: text}}
	}
	regex := func(path v1alpha1.MutationPath, pattern, by string) v1alpha1.ResourceMutation {
		return v1alpha1.ResourceMutation{Regex: &v1alpha1.RegexMutation{Path: path, Pattern: pattern, Replacement: by}}
	}
	for name, tc := range map[string]struct {
		reason string
		steps  []v1alpha1.ResourceMutation
		want   provenance.Value
	}{
		"None": {reason: "What no step changes is the consumer's.", steps: nil, want: provenance.Entered},
		"Elsewhere": {
			reason: "What is changed elsewhere does not matter.",
			steps:  []v1alpha1.ResourceMutation{template("spec.names", "x")},
			want:   provenance.Entered,
		},
		"Constant": {
			reason: "A constant is the rules'.",
			steps:  []v1alpha1.ResourceMutation{template("spec.name", "x")},
			want:   provenance.Fixed,
		},
		"Value": {
			reason: "What was there is the consumer's.",
			steps:  []v1alpha1.ResourceMutation{template("spec.name", "x-{{ .Value }}")},
			want:   provenance.Entered,
		},
		"Self": {
			reason: "So is another field.",
			steps:  []v1alpha1.ResourceMutation{template("spec.name", "{{ .LocalObject.spec.x }}")},
			want:   provenance.Entered,
		},
		"Other": {
			reason: "The name on the other side is known.",
			steps:  []v1alpha1.ResourceMutation{template("spec.name", "{{ .RemoteObject.metadata.name }}-tls")},
			want:   own,
		},
		"Workspace": {
			reason: "The name of the logical cluster is a server's.",
			steps:  []v1alpha1.ResourceMutation{template("spec.name", "{{ .ClusterName }}")},
			want:   provenance.Assigned,
		},
		"Path": {
			reason: "The path is made of names that consumers choose.",
			steps:  []v1alpha1.ResourceMutation{template("spec.name", "{{ .ClusterPath }}")},
			want:   provenance.Entered,
		},
		"Whole": {
			reason: "A value that is replaced as a whole is the rules'.",
			steps:  []v1alpha1.ResourceMutation{regex("spec.name", "", "x")},
			want:   provenance.Fixed,
		},
		"Part": {
			reason: "A part of it stays.",
			steps:  []v1alpha1.ResourceMutation{regex("spec.name", "a", "x")},
			want:   provenance.Entered,
		},
		"Last": {
			reason: "The last step decides.",
			steps:  []v1alpha1.ResourceMutation{regex("spec.name", "a", "x"), template("spec.name", "x")},
			want:   provenance.Fixed,
		},
		"Later": {
			reason: "Unless a later one may touch it.",
			steps:  []v1alpha1.ResourceMutation{template("spec.name", "x"), template("spec", "y")},
			want:   provenance.Entered,
		},
		"Below": {
			reason: "Or a part of it.",
			steps:  []v1alpha1.ResourceMutation{template("spec.name", "x"), template("spec.name.a", "y")},
			want:   provenance.Entered,
		},
		"Escaped": {
			reason: "Or may be another spelling of it.",
			steps:  []v1alpha1.ResourceMutation{template("spec.name", "x"), template(`spec.na\me`, "{{ .Value }}")},
			want:   provenance.Entered,
		},
		"Several": {
			reason: "Or one of several.",
			steps:  []v1alpha1.ResourceMutation{template("spec.name", "x"), regex("spec.*", "a", "y")},
			want:   provenance.Entered,
		},
		"CEL": {
			reason: "Nobody looks into expressions.",
			steps:  []v1alpha1.ResourceMutation{{CEL: &v1alpha1.CELMutation{Path: "spec.name", Expression: "'x'"}}},
			want:   provenance.Entered,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := mutation.New(&v1alpha1.ResourceMutations{Spec: tc.steps})
			if err != nil {
				t.Fatal(err)
			}
			path, err := jsonpath.Parse("spec.name")
			if err != nil {
				t.Fatal(err)
			}
			got := m.Provenance(path, func(path ...string) provenance.Value {
				if strings.Join(path, ".") == "metadata.name" {
					return own
				}
				return provenance.Entered
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
