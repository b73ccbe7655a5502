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

// TestProvenance shows who decides on field spec.name after steps, where the name of the object on the other side is unique.
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
		"None":      {"What no step changes is the consumer's.", nil, provenance.Entered},
		"Elsewhere": {"What is changed elsewhere does not matter.", []v1alpha1.ResourceMutation{template("spec.names", "x")}, provenance.Entered},
		"Constant":  {"A constant is the rules'.", []v1alpha1.ResourceMutation{template("spec.name", "x")}, provenance.Fixed},
		"Value":     {"What was there is the consumer's.", []v1alpha1.ResourceMutation{template("spec.name", "x-{{ .Value }}")}, provenance.Entered},
		"Self":      {"So is another field.", []v1alpha1.ResourceMutation{template("spec.name", "{{ .LocalObject.spec.x }}")}, provenance.Entered},
		"Other": {
			"The name on the other side is known.", []v1alpha1.ResourceMutation{template("spec.name", "{{ .RemoteObject.metadata.name }}-tls")}, own,
		},
		"Whole":   {"A value that is replaced as a whole is the rules'.", []v1alpha1.ResourceMutation{regex("spec.name", "", "x")}, provenance.Fixed},
		"Part":    {"A part of it stays.", []v1alpha1.ResourceMutation{regex("spec.name", "a", "x")}, provenance.Entered},
		"Last":    {"The last step decides.", []v1alpha1.ResourceMutation{regex("spec.name", "a", "x"), template("spec.name", "x")}, provenance.Fixed},
		"Later":   {"Unless a later one may touch it.", []v1alpha1.ResourceMutation{template("spec.name", "x"), template("spec", "y")}, provenance.Entered},
		"Below":   {"Or a part of it.", []v1alpha1.ResourceMutation{template("spec.name", "x"), template("spec.name.a", "y")}, provenance.Entered},
		"Escaped": {"Or may be another spelling of it.", []v1alpha1.ResourceMutation{template("spec.name", "x"), template(`spec.na\me`, "{{ .Value }}")}, provenance.Entered},
		"Several": {"Or one of several.", []v1alpha1.ResourceMutation{template("spec.name", "x"), regex("spec.*", "a", "y")}, provenance.Entered},
		"CEL": {
			"Nobody looks into expressions.",
			[]v1alpha1.ResourceMutation{{CEL: &v1alpha1.CELMutation{Path: "spec.name", Expression: "'x'"}}},
			provenance.Entered,
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
