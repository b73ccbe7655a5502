package informer

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A crowd is an owner that looks at one resource through the Sets of many connections to one server.
type crowd struct {
	owner Owner
	seen  Interest
	sets  []*Set
}

func (c *crowd) join(t *testing.T, o Options) {
	t.Helper()
	d, err := dynamic.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := NewSet(d, o)
	t.Cleanup(s.Close)
	s.Track(c.owner, "test", c.seen)
	c.sets = append(c.sets, s)
}

// await waits until each Set shows a value of the resource, and returns what they show.
func (c *crowd) await(t *testing.T, value string) []*unstructured.Unstructured {
	t.Helper()
	var got []*unstructured.Unstructured
	kube.Eventually(t, "all to show "+value, func() (bool, string) {
		got = nil
		for _, s := range c.sets {
			u, err := s.Get(t.Context(), c.owner, c.seen)
			if err != nil || u == nil {
				return false, fmt.Sprint(err)
			}
			if shown, _, _ := unstructured.NestedString(u.Object, "data", "value"); shown != value {
				return false, shown
			}
			got = append(got, u)
		}
		return true, ""
	})
	return got
}

// TestConnectionsShareStates shows that many connections to one server hold a resource once, be it that it comes with a
// list or later, and that each sees changes.
func TestConnectionsShareStates(t *testing.T) {
	const many = 20
	c, ns := server.Client(t), server.Namespace(t)
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c", Labels: map[string]string{"shared": "true"}},
		Data:       map[string]string{"value": "first"},
	}
	if err := c.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	all := &crowd{
		owner: Owner{Controller: "test", NamespacedName: types.NamespacedName{Name: "owner"}},
		seen: Interest{
			Resource:       schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			NamespacedName: types.NamespacedName{Namespace: ns, Name: "c"}, Stream: StreamLabelled,
		},
	}
	o := Options{Selector: "shared=true", Interner: NewInterner(), Wake: func(Owner) {}}
	for range many {
		all.join(t, o)
	}
	listed := all.await(t, "first")
	cm.Data["value"] = "second"
	if err := c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	data := func(u *unstructured.Unstructured) uintptr { return reflect.ValueOf(u.Object["data"]).Pointer() }
	for _, states := range [][]*unstructured.Unstructured{listed, all.await(t, "second")} {
		if alone := slices.IndexFunc(states, func(u *unstructured.Unstructured) bool {
			return data(u) != data(states[0])
		}); alone > 0 {
			t.Errorf("connection %d holds a state of its own", alone)
		}
	}
}
