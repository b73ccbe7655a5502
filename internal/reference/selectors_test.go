package reference

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// An indexedReader reads Objects from an index as the manager's cache does, and counts those it returns.
type indexedReader struct {
	client.Reader

	index    cache.Indexer
	returned int
}

// List lists the Objects of one value of the index.
func (r *indexedReader) List(_ context.Context, l client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	found, err := r.index.ByIndex(indexReferences, o.FieldSelector.Requirements()[0].Value)
	if o.Limit > 0 && len(found) > int(o.Limit) {
		found = found[:o.Limit]
	}
	r.returned += len(found)
	list := l.(*mobjectv1alpha1.ObjectList)
	for _, f := range found {
		list.Items = append(list.Items, *f.(*mobjectv1alpha1.Object))
	}
	return err
}

// crowded returns the Objects of a cache, and who is woken by their changes.
func crowded(t *testing.T, crowd ...*mobjectv1alpha1.Object) (*Resolver, *indexedReader, *[]string) {
	t.Helper()
	woken := &[]string{}
	gvk := mobjectv1alpha1.ObjectGroupVersionKind
	r := &indexedReader{}
	k := Kind{GVK: gvk, Namespaced: true, NewList: func() resource.ManagedList { return &mobjectv1alpha1.ObjectList{} }}
	s := &Resolver{
		options: Options{Cache: r, Owned: ownsAll, Wake: func(o informer.Owner) { *woken = append(*woken, o.Name) }},
		kinds:   map[schema.GroupKind]Kind{gvk.GroupKind(): k},
	}
	s.served.Store(gvk.GroupKind(), nil)
	r.index = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{indexReferences: func(o any) ([]string, error) {
		return s.keys(Referrer{Object: o.(Object), GVK: gvk}), nil
	}})
	for _, o := range crowd {
		if err := r.index.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return s, r, woken
}

// selecting returns an Object that refers to those of a selector.
func selecting(name string, s metav1.LabelSelector) *mobjectv1alpha1.Object {
	return named(name, commonv1.Reference{PatchesFrom: &commonv1.PatchesFrom{Selector: &s, FieldPath: "metadata.uid"}})
}

// TestSelectorsAreIndexed shows that a change of an Object touches none of the selectors that require another label,
// and wakes all whose selectors match.
func TestSelectorsAreIndexed(t *testing.T) {
	in := func(o metav1.LabelSelectorOperator, key string, values ...string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: key, Operator: o, Values: values},
		}}
	}
	crowd := []*mobjectv1alpha1.Object{
		selecting("one-of", in(metav1.LabelSelectorOpIn, "app", "api", "web")),
		selecting("none-of", in(metav1.LabelSelectorOpNotIn, "app", "api")),
		selecting("not", in(metav1.LabelSelectorOpNotIn, "app", "web")),
		selecting("some", in(metav1.LabelSelectorOpExists, "app")),
		selecting("two", metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "tier": "front"}}),
		selecting("second-missing", metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "tier": "back"}}),
		named("labels", reading("metadata.uid", "", map[string]string{"app": "web"})),
	}
	few := len(crowd)
	for i := range 1000 {
		crowd = append(crowd, selecting("other-"+strconv.Itoa(i),
			metav1.LabelSelector{MatchLabels: map[string]string{"app": strconv.Itoa(i)}}))
	}
	s, r, woken := crowded(t, crowd...)
	o := showing("blue")
	o.SetLabels(map[string]string{"app": "web", "tier": "front"})
	s.wakeReferrers(t.Context(), mobjectv1alpha1.ObjectGroupVersionKind.GroupKind(), o)
	slices.Sort(*woken)
	if diff := cmp.Diff([]string{"labels", "none-of", "one-of", "some", "two"}, *woken); diff != "" {
		t.Errorf("woken: -want, +got:\n%s", diff)
	}
	if r.returned > few {
		t.Errorf("want at most %d Objects looked at, got %d", few, r.returned)
	}
}

// ownsAll owns each Object.
func ownsAll(client.Object) bool { return true }
