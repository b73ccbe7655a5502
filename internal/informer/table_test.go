package informer

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestTable shows that a Table tells of what changes by name, finds it by namespace and key, shows answers at once, and
// that its stream ends with the last who looks at it.
func TestTable(t *testing.T) {
	c, ns, other := server.Client(t), server.Namespace(t), server.Namespace(t)
	d, err := dynamic.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := NewSet(d, Options{Selector: "managed=true", Wake: func(Owner) {}})
	defer s.Close()
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	changed := make(chan types.NamespacedName, 100)
	open := func(tell chan types.NamespacedName) *Table {
		table := s.Table(WatchRequest{
			Resource: secrets, Stream: StreamBySelector, NamespacedName: types.NamespacedName{Namespace: ns},
		},
			func(u *unstructured.Unstructured) string { return u.GetLabels()["key"] })
		table.Listen(func(n types.NamespacedName) { tell <- n })
		return table
	}
	first, second := open(changed), open(make(chan types.NamespacedName, 100))
	if err := first.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{ns, other} {
		o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "one", Labels: map[string]string{"key": "k"},
		}}
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	one := types.NamespacedName{Namespace: ns, Name: "one"}
	if n := <-changed; n != one {
		t.Errorf("told of %s", n)
	}
	if all := first.Keyed("k"); len(all) != 1 || len(first.Select(ns, labels.Everything())) != 1 ||
		len(first.Names()) != 1 {
		t.Errorf("want the one Secret of the namespace by key and by namespace, got %v", all)
	}
	answer, err := d.Resource(secrets).Namespace(ns).Patch(t.Context(), "one", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"key":"l"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first.Put(answer)
	if len(first.Keyed("k")) != 0 || len(second.Keyed("l")) != 1 {
		t.Errorf("the answer is not seen at once")
	}
	if err := c.Delete(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "one"}}); err != nil {
		t.Fatal(err)
	}
	first.Until(t.Context(), one, func(u *unstructured.Unstructured) bool { return u == nil })
	if got := first.Get(one); got != nil {
		t.Errorf("it is still there")
	}
	first.Close()
	if len(s.streams) != 1 {
		t.Errorf("want the stream kept for the second, got %d", len(s.streams))
	}
	second.Close()
	kube.Eventually(t, "no stream", func() (bool, string) { return len(s.streams) == 0, "there is one" })
}

// TestTableEndsWithSet shows that a Table whose Set has been closed does not pass for one that shows what the server
// has, and that nobody waits for its first list.
func TestTableEndsWithSet(t *testing.T) {
	d, err := dynamic.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSet(d, Options{Wake: func(Owner) {}})
	open := func(resource string) *Table {
		return s.Table(WatchRequest{
			Resource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Stream: StreamBySelector,
		}, nil)
	}
	filled, waiting := open("secrets"), open("configmaps") // Of a server that is nowhere.
	filled.stream.settle(nil, false)
	if err := filled.Ready(); err != nil {
		t.Errorf("once it is filled: %v", err)
	}
	s.Close()
	for _, table := range []*Table{filled, waiting} {
		if err := table.Await(t.Context()); !IsNotSynced(err) {
			t.Errorf("once its Set is closed: want not synced, got %v", err)
		}
	}
}
