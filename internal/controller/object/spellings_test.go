package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A spelling is a manifest that a server does not store as it is written.
type spelling struct {
	reason string
	edit   func(build.Manifest)
	path   []string // what is compared of the resource
	want   any
	drift  string // a merge patch that another one makes
}

// TestSpellings shows that what a server stores otherwise than it is written costs nothing at rest, and that a change
// of it is reverted.
func TestSpellings(t *testing.T) {
	c := provide(t)
	for name, tc := range map[string]spelling{
		"Quantity": {
			reason: "The server stores the shortest form of a quantity.",
			edit: func(m build.Manifest) {
				m["kind"] = "ResourceQuota"
				m["spec"] = map[string]any{"hard": map[string]any{"cpu": "2000m", "memory": "1024Mi"}}
			},
			path:  []string{"spec", "hard"},
			want:  map[string]any{"cpu": "2", "memory": "1Gi"},
			drift: `{"spec":{"hard":{"cpu":"3"}}}`,
		},
		"Null": {
			reason: "A field that is null is as one that is not there.",
			edit: func(m build.Manifest) {
				m["data"] = map[string]any{"color": "blue"}
				m["immutable"] = nil
				m["binaryData"] = nil
			},
			path:  []string{"data"},
			want:  map[string]any{"color": "blue"},
			drift: `{"data":{"color":"red"}}`,
		},
		"DefaultInKey": {
			reason: "The protocol, which the server sets, is part of the key of a port.",
			edit: func(m build.Manifest) {
				m["kind"] = "Service"
				m["spec"] = map[string]any{"clusterIP": "None", "ports": []any{map[string]any{"port": 80, "name": "web"}}}
			},
			path: []string{"spec", "ports"},
			want: []any{map[string]any{
				"name": "web", "port": int64(80), "protocol": "TCP", "targetPort": int64(80),
			}},
			drift: `{"spec":{"ports":[{"name":"other","port":80,"protocol":"TCP","targetPort":80}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, build.Namespaced())
			m := build.ConfigMap(w.target, "settings")
			delete(m, "data")
			tc.edit(m)
			tc.run(t, w, m)
		})
	}
}

// run applies a manifest, and has another one change the resource.
func (s spelling) run(t *testing.T, w world, m build.Manifest) {
	t.Helper()
	o := w.keep(t, m)
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": m["apiVersion"], "kind": m["kind"]}}
	key := types.NamespacedName{Namespace: w.target, Name: (&unstructured.Unstructured{Object: m}).GetName()}
	holds := func() (bool, string) {
		if err := w.tc.Get(t.Context(), key, u); err != nil {
			return false, err.Error()
		}
		got, _, _ := unstructured.NestedFieldNoCopy(u.Object, s.path...)
		return cmp.Equal(s.want, got), cmp.Diff(s.want, got)
	}
	if ok, state := holds(); !ok {
		t.Fatalf("%s: -want, +got:\n%s", s.reason, state)
	}
	audit := target.Audit(t)
	mark := audit.Mark()
	staysUnwritten(t, w.c, o)
	for _, e := range audit.Since(mark).By(user) {
		if e.Namespace == w.target {
			t.Errorf("%s: want no request at rest, got %s %s", s.reason, e.Verb, e.Subject())
		}
	}
	kube.Patch(t, w.tc, u, s.drift)
	kube.Eventually(t, s.reason+" The change to be reverted", holds)
}
