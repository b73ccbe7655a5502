package mutation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// FuzzSpec looks for steps that break out: by a panic, with a changed input, with an object that lost its identity, or
// with a value told.
func FuzzSpec(f *testing.F) {
	f.Add("spec.secretName", "my-(.*)", `\1$1`, "{{ .Value }}", "value")
	f.Add("spec.items.#.name", "^", "x", "{{ .LocalObject.spec | toJson }}", "self.spec.items.map(x, x.name)")
	f.Add(`metadata.labels.a\.b/c`, "", "", "{{ .Value.Get \"a\" }}", "{'a': self}")
	f.Add(`spec.items.#(name=="one").size`, "1", "2", "1", "value + 1")
	f.Add("spec.list.-1", ".", "$0", "x", "1.0")
	f.Add(":1.:2|3", ".", "$0", "x", "b'a'")
	f.Fuzz(func(t *testing.T, path, pattern, by, text, expression string) {
		for _, s := range []v1alpha1.ResourceMutation{
			remove(path), regex(path, pattern, by), tpl(path, text), expr(path, expression),
		} {
			m, err := New(&v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{s}}, nil)
			if err != nil {
				continue
			}
			in := object()
			out, err := m.Spec(gotemplate.Workspace{}, in, other())
			if diff := cmp.Diff(object().Object, in.Object); diff != "" {
				t.Errorf("the object has changed: %s", diff)
			}
			if err != nil {
				if strings.Contains(err.Error(), password) &&
					!strings.Contains(path+pattern+by+text+expression, password) {
					t.Errorf("error tells a value: %v", err)
				}
				continue
			}
			if out.GetName() != "web" || out.GetNamespace() != "default" || out.GetKind() != "Thing" ||
				out.GetUID() != "u" {
				t.Errorf("the identity has changed: %v", out.Object)
			}
			_ = out.DeepCopy() // It panics on what JSON cannot hold.
		}
	})
}
