package informer

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
