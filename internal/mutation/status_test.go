package mutation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

func TestStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		steps  []v1alpha1.ResourceMutation
		want   any
	}{
		"None": {
			reason: "Without steps it is as it is.",
			steps:  nil,
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
			m, err := New(&v1alpha1.ResourceMutations{Status: tc.steps}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Status(gotemplate.Workspace{}, object(), other())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
