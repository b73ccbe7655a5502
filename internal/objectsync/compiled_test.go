package objectsync_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// frozen is a cache of what was there once.
type frozen []*unstructured.Unstructured

func (f frozen) Get(n types.NamespacedName) (*unstructured.Unstructured, error) {
	i := slices.IndexFunc(f, func(u *unstructured.Unstructured) bool {
		return u.GetNamespace() == n.Namespace && u.GetName() == n.Name
	})
	if i < 0 {
		return nil, nil //nolint:nilnil // As a Cache does.
	}
	return f[i], nil
}

func (f frozen) Select(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error) {
	return slices.DeleteFunc(slices.Clone(f), func(u *unstructured.Unstructured) bool {
		return namespace != "" && u.GetNamespace() != namespace || !s.Matches(labels.Set(u.GetLabels()))
	}), nil
}

func (f frozen) Copies(key string) ([]*unstructured.Unstructured, error) {
	return slices.DeleteFunc(slices.Clone(f),
		func(u *unstructured.Unstructured) bool { return objectsync.KeyOf(u) != key }), nil
}

func (f frozen) States(key string) ([]*unstructured.Unstructured, error) {
	return slices.DeleteFunc(slices.Clone(f),
		func(u *unstructured.Unstructured) bool { return objectsync.StateKeyOf(u) != key }), nil
}

// freeze returns a side that shows what another does by now, and takes no writes.
func (w *world) freeze(s objectsync.Side) objectsync.Side {
	known := map[schema.GroupVersionResource]frozen{}
	return objectsync.Side{Cache: func(r schema.GroupVersionResource) objectsync.Cache {
		if _, ok := known[r]; !ok {
			all, err := s.Cache(r).Select("", labels.Everything())
			if err != nil {
				w.Fatal(errors.Wrapf(err, "cannot list %s", r))
			}
			known[r] = all
		}
		return known[r]
	}}
}

// costly is a spec that takes long to compile, and little to apply to an object that has nothing of what it is about.
func costly() *v1alpha1.PublishedResourceSpec {
	const steps, pattern = 100, "(([a-z]{1,9}|[0-9]{1,9})-){1,9}x"
	reference := byReference("spec.none")
	reference.Reference.Regex = &v1alpha1.RegularExpression{Pattern: pattern}
	spec := related(v1alpha1.OriginService, reference)
	spec.Filter = &v1alpha1.ResourceFilter{Resource: &metav1.LabelSelector{}}
	spec.Mutation = &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{byCEL("spec.size", "value")}}
	for i := range steps {
		spec.Mutation.Spec = append(spec.Mutation.Spec, byRegex("spec.none", fmt.Sprint(pattern, i), ""))
		spec.Mutation.Status = append(spec.Mutation.Status, byRegex("status.none", fmt.Sprint(pattern, i), ""))
	}
	return spec
}

// TestCompiledOnce shows that patterns, templates and expressions are compiled with the spec, and not with each look at
// an object.
func TestCompiledOnce(t *testing.T) {
	w := newWorld(t)
	spec := costly()
	s := w.syncer(spec)
	w.create(w.above, thing(w.input.Object))
	w.mustSync(s, w.input)
	w.patchStatus(w.below, w.theCopy(w.cluster), `{"status":{"phase":"Ready"}}`)
	w.mustSync(s, w.input)
	in := w.input
	in.Workspace.Side, in.Service = w.freeze(in.Workspace.Side), w.freeze(in.Service)
	const runs = 10
	look := testing.AllocsPerRun(runs, func() {
		if _, err := s.Sync(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	})
	compilation := testing.AllocsPerRun(runs, func() { w.syncer(spec) })
	if look > compilation/5 {
		t.Errorf("want a look to cost a fraction of a compilation, it makes %v allocations of %v", look, compilation)
	}
}
