package objectsync_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// Steps of mutation.
func byRegex(path v1alpha1.MutationPath, pattern, by string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{Regex: &v1alpha1.RegexMutation{Path: path, Pattern: pattern, Replacement: by}}
}

func byTemplate(path v1alpha1.MutationPath, text string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{Template: &v1alpha1.TemplateMutation{Path: path, Template: text}}
}

func byCEL(path v1alpha1.MutationPath, text string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{CEL: &v1alpha1.CELMutation{Path: path, Expression: text}}
}

// TestRewrittenReference shows that a reference is followed on both sides: a step that changes it for the service
// cluster is all that has to be said, and the consumer sees nothing of it.
func TestRewrittenReference(t *testing.T) {
	for name, origin := range map[string]v1alpha1.Origin{"Up": v1alpha1.OriginService, "Down": v1alpha1.OriginKCP} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(origin, byReference("spec.secretName"))
			spec.Mutation = &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{byTemplate("spec.secretName",
				"internal-{{ .Value }}")}}
			s := w.syncer(spec)
			w.create(w.above, thing(w.input.Object))
			w.mustSync(s, w.input)
			from, to, at, copyAt := w.ends(origin)
			fromName, toName := "internal-tls", "tls"
			if origin == v1alpha1.OriginKCP {
				fromName, toName = toName, fromName
			}
			w.create(from, newSecret(at, fromName, "one"))
			w.mustSync(s, w.input)
			if got := w.secretOf(to, copyAt, toName)["k"]; got != "one" {
				t.Errorf("want the Secret as %s, got %q", toName, got)
			}
			if got := w.secretOf(to, copyAt, fromName); got != nil {
				t.Errorf("want no Secret %s on the other side", fromName)
			}
			if got, _, _ := unstructured.NestedString(w.source(w.input).Object, "spec", "secretName"); got != "tls" {
				t.Errorf("the consumer's own object: got %q", got)
			}
		})
	}
}
