package crash_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// hat returns an object of a consumer.
func (s *world) hat(name, size string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size}}}
	u.SetAPIVersion(s.group + "/v1")
	u.SetKind("Hat")
	u.SetNamespace(metav1.NamespaceDefault)
	u.SetName(name)
	return u
}

// bound returns a client of a workspace that has bound the API.
func (s *world) bound(t *testing.T) client.Client {
	t.Helper()
	_, cfg := workspaces.Workspace(t)
	kcp.AwaitBound(t, cfg, kcp.Bind(t, cfg, s.path, exportName, kcp.Claims("events")...))
	return kcp.Client(t, cfg)
}

// inStep reports whether there is one copy of each object of a workspace, as the object is, and nothing else.
func (s *world) inStep(t *testing.T, in client.Client) (bool, string) {
	t.Helper()
	above, below := &unstructured.UnstructuredList{}, &unstructured.UnstructuredList{}
	for _, l := range []*unstructured.UnstructuredList{above, below} {
		l.SetAPIVersion(s.group + "/v1")
		l.SetKind("HatList")
	}
	if err := in.List(t.Context(), above); err != nil {
		return false, err.Error()
	}
	if err := s.c.List(t.Context(), below); err != nil {
		return false, err.Error()
	}
	var want, got []string
	for _, u := range above.Items {
		want = append(want, fmt.Sprint(u.GetName(), u.Object["spec"], u.GetDeletionTimestamp() != nil,
			slices.Contains(u.GetFinalizers(), objectsync.Finalizer)))
	}
	for _, u := range below.Items {
		got = append(got, fmt.Sprint(u.GetAnnotations()[objectsync.AnnotationName], u.Object["spec"], false, true))
	}
	slices.Sort(want)
	slices.Sort(got)
	_ = s.c.Get(t.Context(), client.ObjectKeyFromObject(s.o), s.o) // For the message only.
	return slices.Equal(want, got), fmt.Sprintf("%v is to be %v, status %+v", want, got, s.o.Status)
}

// TestKilledWhileSyncing kills a provider before and after its writes to kcp and to the service cluster, while objects
// come, change and go, and lets another go on.
func TestKilledWhileSyncing(t *testing.T) {
	const last = 8
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	never := moment{write: -1}
	s := newWorld(t)
	s.run(t, never, func() (bool, string) { return s.published(t.Context(), 1) })
	in := s.bound(t)
	for n := range last {
		for _, m := range []moment{{write: n}, {write: n, after: true}} {
			id := fmt.Sprintf("%d-%t", n, m.after)
			stays, goes := s.hat("stays-"+id, "S"), s.hat("goes-"+id, "S")
			kube.Create(t, in, stays, goes)
			done := func() (bool, string) { return s.inStep(t, in) }
			s.run(t, m, done)
			s.run(t, never, done)
			kube.Patch(t, in, stays, `{"spec":{"size":"L"}}`)
			kube.Delete(t, in, goes)
			s.run(t, m, done)
			s.run(t, never, done)
		}
	}
}
