package informer

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestConnectionsShareStates shows that many connections to one server hold a resource once, be it that it comes with a
// list or later, and that each sees changes.
func TestConnectionsShareStates(t *testing.T) {
	const many = 20
	c, ns := server.Client(t), server.Namespace(t)
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c", Labels: map[string]string{"shared": "true"}},
	}
	kube.Create(t, c, cm)
	owner, seen := Owner{Controller: "test"}, Interest{
		Resource:       schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		NamespacedName: types.NamespacedName{Namespace: ns, Name: "c"},
	}
	d, err := dynamic.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Selector: "shared=true", Interner: NewInterner(), Wake: func(Owner) {}}
	var sets []*Set
	for range many {
		s := NewSet(d, o)
		t.Cleanup(s.Close)
		sets = append(sets, s)
	}
	for _, value := range []string{"listed", "changed"} {
		held := map[uintptr]int{} // how many hold the same
		if value == "changed" {
			cm.Data = map[string]string{"value": value}
			if err := c.Update(t.Context(), cm); err != nil {
				t.Fatal(err)
			}
		}
		kube.Eventually(t, "all to show what is "+value, func() (bool, string) {
			clear(held)
			for _, s := range sets {
				u, err := s.Get(t.Context(), owner, "test", seen)
				if err != nil || u == nil || u.GetResourceVersion() != cm.ResourceVersion {
					return false, fmt.Sprint(err)
				}
				held[reflect.ValueOf(u.Object["metadata"].(map[string]any)["labels"]).Pointer()]++
			}
			return true, ""
		})
		if len(held) != 1 {
			t.Errorf("of what is %s: want one state for all, got %v", value, held)
		}
	}
}
