package informer

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var server = kube.Server{Shared: "remote"}

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &server)) }

// TestSelectorStream shows that an interest with a selector carries what it selects in its namespace, that each change
// of that wakes its owner, and that its stream is another one than that of the labelled resources of the kind.
func TestSelectorStream(t *testing.T) {
	c, ns := server.Client(t), server.Namespace(t)
	other := server.Namespace(t)
	d, err := dynamic.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	woken := 0
	s := NewSet(d, Options{Selector: "managed=true", Wake: func(Owner) {
		mu.Lock()
		defer mu.Unlock()
		woken++
	}})
	defer s.Close()
	o := Owner{Controller: "test", NamespacedName: types.NamespacedName{Name: "owner"}}
	i := Interest{
		Resource:       schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		NamespacedName: types.NamespacedName{Namespace: ns},
		Stream:         StreamBySelector, Selector: "app=paint",
	}
	s.Track(o, "test", i, Interest{
		Resource: i.Resource, NamespacedName: types.NamespacedName{Namespace: ns, Name: "x"},
		Stream: StreamLabelledInNamespace,
	})

	await := func(want ...string) {
		t.Helper()
		kube.Eventually(t, "selected: "+strings.Join(want, ", "), func() (bool, string) {
			list, err := s.List(t.Context(), o, i)
			if err != nil {
				return false, err.Error()
			}
			var got []string
			for _, u := range list {
				got = append(got, u.GetName())
			}
			return slices.Equal(want, got), strings.Join(got, ", ")
		})
	}
	wakes := func() int {
		mu.Lock()
		defer mu.Unlock()
		return woken
	}
	paint := map[string]string{"app": "paint"}
	await()
	for _, cm := range []*corev1.ConfigMap{
		{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "plain", Labels: map[string]string{"managed": "true"}}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "foreign", Labels: paint}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "b", Labels: paint}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a", Labels: paint}},
	} {
		if err := c.Create(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	await("a", "b")
	before := wakes()
	if err := c.Delete(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	await("a")
	kube.Eventually(t, "the owner to be woken", func() (bool, string) { return wakes() > before, "not yet" })
	s.Forget(o)
	if _, err := s.List(t.Context(), o, i); !IsNotSynced(err) {
		t.Errorf("without owner there is no stream: got %v", err)
	}
}
