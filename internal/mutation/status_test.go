package mutation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

func TestStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		steps  []v1alpha1.ResourceMutation
		want   any
	}{
		"None": {
			reason: "Without steps it is as it is.",
			want:   map[string]any{"phase": "Ready", "count": int64(2)},
		},
		"Template": {
			reason: "LocalObject is what is changed, RemoteObject the other side.",
			steps: []v1alpha1.ResourceMutation{tpl("status.phase",
				"{{ .LocalObject.metadata.name }}/{{ .RemoteObject.metadata.name }}")},
			want: map[string]any{"phase": "web/hashed", "count": int64(2)},
		},
		"OnlyIt": {
			reason: "Nothing else is changed.",
			steps:  []v1alpha1.ResourceMutation{remove("spec"), remove("status.phase")},
			want:   map[string]any{"count": int64(2)},
		},
		"CanVanish": {reason: "It can be removed.", steps: []v1alpha1.ResourceMutation{remove("status")}, want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(&v1alpha1.ResourceMutations{Status: tc.steps})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Status(object(), other())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestIn shows that templates of both lists know the workspace, each time another one, and that no steps stay none.
func TestIn(t *testing.T) {
	steps := []v1alpha1.ResourceMutation{
		tpl("spec.class", `{{ if hasPrefix "root:gold:" (toString .ClusterPath) }}gold{{ else }}silver{{ end }}`),
		tpl("status.phase", "{{ .ClusterName }} {{ .ClusterPath.Base }}"),
	}
	m, err := New(&v1alpha1.ResourceMutations{Spec: steps[:1], Status: steps[1:]})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{"root:gold:a": {"gold", "c1 a"}, "root:b": {"silver", "c1 b"}} {
		in := m.In(Workspace{Cluster: "c1", Path: path})
		spec, err := in.Spec(object(), other())
		if err != nil {
			t.Fatal(err)
		}
		status, err := in.Status(object(), other())
		if err != nil {
			t.Fatal(err)
		}
		got := []any{spec.Object["spec"].(map[string]any)["class"], status.(map[string]any)["phase"]}
		if diff := cmp.Diff([]any{want[0], want[1]}, got); diff != "" {
			t.Errorf("workspace %s: -want, +got:\n%s", path, diff)
		}
	}
	var none *Mutations
	if none.In(Workspace{Cluster: "c1"}) != nil {
		t.Error("no steps are none in any workspace")
	}
}

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
			m, err := New(&v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{s}})
			if err != nil {
				continue
			}
			in := object()
			out, err := m.Spec(in, other())
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
