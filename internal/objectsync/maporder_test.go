package objectsync_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestMutationOfMapRests shows that an object at rest is not written again and again by a step that goes through a map
// of its consumer.
func TestMutationOfMapRests(t *testing.T) {
	const many = 20
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{Mutation: &v1alpha1.ResourceMutations{
		Spec: []v1alpha1.ResourceMutation{
			byCEL("metadata.annotations.names", "self.metadata.labels.map(k, k).join(',')"),
		},
	}})
	w.create(w.above, thing(w.input.Object, func(u *unstructured.Unstructured) {
		labels := map[string]string{}
		for i := range many {
			labels[fmt.Sprint("l", i)] = ""
		}
		u.SetLabels(labels)
	}))
	w.mustSync(s, w.input)
	w.writesNothing("at rest", s, w.input)
}
