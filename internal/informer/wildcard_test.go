package informer

import (
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestWildcardStream shows that an interest in all resources of a kind carries them without our label, and that a
// change of any wakes its owner.
func TestWildcardStream(t *testing.T) {
	c, ns := server.Client(t), server.Namespace(t)
	d, err := dynamic.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	var woken atomic.Int64
	s := NewSet(d, Options{Selector: "managed=true", Wake: func(Owner) { woken.Add(1) }})
	defer s.Close()
	o := Owner{Controller: "test", NamespacedName: types.NamespacedName{Name: "owner"}}
	i := Interest{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Stream: StreamAllWorkspaces,
	}
	s.Track(o, "test", i)
	has := func(name string) bool {
		list, err := s.List(t.Context(), o, i)
		if err != nil {
			return false
		}
		for _, u := range list {
			if u.GetName() == name {
				return true
			}
		}
		return false
	}
	kube.Eventually(t, "the first list", func() (bool, string) {
		_, err := s.List(t.Context(), o, i)
		return err == nil, "not yet"
	})
	before := woken.Load()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "any"}}
	if err := c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the resource, and to be woken", func() (bool, string) {
		return has("any") && woken.Load() > before, "not yet"
	})
	if err := c.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the resource to be gone", func() (bool, string) { return !has("any"), "not yet" })
}

// TestStreamInPart shows that a list which has much more than is to be held comes in pages, of which metadata is held,
// and that what changes then is followed.
func TestStreamInPart(t *testing.T) {
	const many, bytes = 3 * partPage, 200 << 10
	c, ns := server.Client(t), server.Namespace(t)
	named := func(i int) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("fat-%02d", i)},
			Data:       map[string][]byte{"key": make([]byte, bytes)},
		}
	}
	for i := range many {
		kube.Create(t, c, named(i))
	}
	d, err := dynamic.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := NewSet(d, Options{Wake: func(Owner) {}})
	defer s.Close()
	table := s.Table(Interest{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Stream: StreamAllWorkspacesInPart,
	}, nil)
	if err := table.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole, all := 0, table.Select("/"+ns, labels.Everything())
	for _, u := range all {
		if isWhole(u) {
			whole++
		}
	}
	if most := unusedMost / bytes; len(all) != many || whole > most {
		t.Errorf("want %d Secrets, and at most %d of them with content, got %d and %d", many, most, len(all), whole)
	}
	if held := table.stream.store.rooms[""]; held > 2*unusedMost { // Others have Secrets there, too.
		t.Errorf("want little held, got %d KiB", held>>10)
	}
	last := named(many - 1)
	n := types.NamespacedName{Namespace: "/" + ns, Name: last.Name}
	if u := table.Get(n); !IsTrimmed(u) {
		t.Errorf("want metadata only of the last one, got %v", u)
	}
	last.Data = nil
	if err := c.Update(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the change", func() (bool, string) {
		return table.Get(n).GetResourceVersion() == last.ResourceVersion, "not yet"
	})
}

// TestNamesakesOfClusters shows that a stream of all logical clusters keeps resources of one name apart.
func TestNamesakesOfClusters(t *testing.T) {
	in := func(cluster, version string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetName("shop")
		u.SetAnnotations(map[string]string{annotationCluster: cluster})
		u.SetResourceVersion(version)
		return u
	}
	s := testStore(func(string) {})
	s.name = nameInCluster
	for _, u := range []*unstructured.Unstructured{in("a", "2"), in("b", "1")} {
		if err := s.Add(u); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(s.find("", "")); got != 2 {
		t.Errorf("want a resource in each of two clusters, got %d", got)
	}
	if err := s.Delete(in("a", "3")); err != nil {
		t.Fatal(err)
	}
	if got := s.find("", ""); len(got) != 1 || got[0].GetAnnotations()[annotationCluster] != "b" {
		t.Errorf("want the one of the other cluster left, got %v", got)
	}
}
