package related_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// found returns whatever is selected, by a name that tells how it was.
func found(s labels.Selector) ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetName(strings.ReplaceAll(s.String(), "=", "-"))
	return []*unstructured.Unstructured{u}, nil
}

// view returns the two sides of one of many objects.
func view(i int) related.View {
	v := related.View{
		Cluster: fmt.Sprint("c", i), Workspace: &unstructured.Unstructured{Object: map[string]any{}},
		Service: &unstructured.Unstructured{Object: map[string]any{}},
	}
	v.Workspace.SetName(fmt.Sprint("web", i))
	v.Service.SetName(fmt.Sprint("copy", i))
	return v
}

// TestSelectorOfEach shows that a selector is filled in for each object anew, keys and values, that of objects and that
// of their namespaces, also while it is for others: else an object would get what is another tenant's.
func TestSelectorOfEach(t *testing.T) {
	of := func(key string) spec {
		return selector("{{ .LocalObject.metadata.name }}-{{ .Value }}",
			map[string]string{key + "-{{ .ClusterName }}": "{{ .RemoteObject.metadata.name }}"})
	}
	r := rule(t, v1alpha1.OriginService, v1alpha1.RelatedResourceObject{
		RelatedResourceObjectSpec: of("of"), Namespace: new(of("in")),
	}, nil)
	find := related.Finder{
		Namespaces: found,
		Objects:    func(_ string, s labels.Selector) ([]*unstructured.Unstructured, error) { return found(s) },
	}
	var wg sync.WaitGroup
	for i := range 8 {
		v := view(i)
		label, copied := fmt.Sprintf("-c%d-web%d", i, i), fmt.Sprintf("copy%d-", i)
		want := []related.Names{{
			From: types.NamespacedName{Namespace: "in" + label, Name: "of" + label},
			To:   types.NamespacedName{Namespace: copied + "in" + label, Name: copied + "of" + label},
		}}
		wg.Go(func() {
			for range 200 {
				got, err := r.Names(v, find)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("object %d: want what it selects and no more, got error %v, -want, +got:\n%s", i, err, diff)
					return
				}
			}
		})
	}
	wg.Wait()
}
