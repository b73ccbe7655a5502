package mutation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// TestWorkspace shows that templates of both lists know the workspace, each time another one.
func TestWorkspace(t *testing.T) {
	steps := []v1alpha1.ResourceMutation{
		tpl("spec.class", `{{ if hasPrefix "root:gold:" (toString .ClusterPath) }}gold{{ else }}silver{{ end }}`),
		tpl("status.phase", "{{ .ClusterName }} {{ .ClusterPath.Base }}"),
	}
	m, err := New(&v1alpha1.ResourceMutations{Spec: steps[:1], Status: steps[1:]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{"root:gold:a": {"gold", "c1 a"}, "root:b": {"silver", "c1 b"}} {
		w := gotemplate.Workspace{Cluster: "c1", Path: path}
		spec, err := m.Spec(w, object(), other())
		if err != nil {
			t.Fatal(err)
		}
		status, err := m.Status(w, object(), other())
		if err != nil {
			t.Fatal(err)
		}
		got := []any{spec.Object["spec"].(map[string]any)["class"], status.(map[string]any)["phase"]}
		if diff := cmp.Diff([]any{want[0], want[1]}, got); diff != "" {
			t.Errorf("workspace %s: -want, +got:\n%s", path, diff)
		}
	}
}
