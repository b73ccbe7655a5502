package objectsync

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// known are holders that do not change.
type known []Holding

// Holdings returns all.
func (k known) Holdings(string, Ref) []Holding { return k }

// Workspaces returns none.
func (known) Workspaces(string) ([]string, error) { return nil, nil }

// Drop does nothing.
func (known) Drop(Holding) {}

// TestShares shows whose copies an object of a workspace may keep in step: those that another object of the workspace
// keeps, of whatever kind.
func TestShares(t *testing.T) {
	record := Record{
		Identifier: "tls", Origin: v1alpha1.OriginKCP, From: Ref{Kind: "Secret", Namespace: "default", Name: "a"},
		To: Ref{Kind: "Secret", Namespace: "x", Name: "a"},
	}
	syncer := func(kind string) *Syncer {
		return &Syncer{primary: related{Pair: Pair{Workspace: Resource{Kind: kind}}}}
	}
	me := Primary{Cluster: "cluster1"}
	me.Name = "web"
	elsewhere := me
	elsewhere.Cluster = "cluster2"
	of := func(kind string, p Primary, change ...func(h *Holding)) Holding {
		h := Holding{Primary: p, State: syncer(kind).StateOf(p), Record: record, Kept: true}
		for _, f := range change {
			f(&h)
		}
		return h
	}
	for name, tc := range map[string]struct {
		h    Holding
		want bool
	}{
		"Mine":      {h: of("Thing", me), want: false},
		"Kind":      {h: of("Other", me), want: true}, // An object of another kind may have the same name.
		"Waits":     {h: of("Other", me, func(h *Holding) { h.Kept = false }), want: false},
		"Elsewhere": {h: of("Thing", elsewhere), want: false},
		"StateOnly": {h: of("Other", me, func(h *Holding) { h.Primary.Name = "" }), want: false}, // It may be one's own.
		"OtherCopy": {h: of("Other", me, func(h *Holding) { h.To.Name = "b" }), want: false},
		"WayBack":   {h: of("Other", me, func(h *Holding) { h.Origin = v1alpha1.OriginService }), want: false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pass{
				Syncer: syncer("Thing"), Input: Input{Holders: known{tc.h}, Object: me.NamespacedName},
				id: Identity{Cluster: me.Cluster},
			}
			if got := p.shares(record); got != tc.want {
				t.Errorf("want %t, got %t", tc.want, got)
			}
		})
	}
}

// An echo is a cache that has whatever is selected, by a name that tells how it was.
type echo struct{ Cache }

func (echo) Select(_ string, s labels.Selector) ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetName(strings.ReplaceAll(s.String(), "=", "-"))
	return []*unstructured.Unstructured{u}, nil
}

// selected returns the two sides of one of many objects.
func selected(i int) primaries {
	p := primaries{
		cluster: fmt.Sprint("c", i), workspace: &unstructured.Unstructured{Object: map[string]any{}},
		service: &unstructured.Unstructured{Object: map[string]any{}},
	}
	p.workspace.SetName(fmt.Sprint("web", i))
	p.service.SetName(fmt.Sprint("copy", i))
	return p
}

// TestSelectorOfEach shows that a selector is filled in for each object anew, keys and values, that of objects and that
// of their namespaces, also while it is for others: else an object would get what is another tenant's.
func TestSelectorOfEach(t *testing.T) {
	spec := func(key string) *v1alpha1.RelatedResourceSelector {
		return &v1alpha1.RelatedResourceSelector{
			LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{key +
				"-{{ .ClusterName }}": "{{ .RemoteObject.metadata.name }}"}},
			Rewrite: v1alpha1.SelectorRewrite{Template: &v1alpha1.TemplateExpression{
				Template: "{{ .LocalObject.metadata.name }}-{{ .Value }}",
			}},
		}
	}
	secret := Resource{GroupVersionResource: Secrets, Kind: "Secret", Scope: v1alpha1.ScopeNamespaced}
	r, err := newRelated(&v1alpha1.RelatedResource{
		Identifier: "found", Origin: v1alpha1.OriginService, Kind: "Secret", Object: &v1alpha1.RelatedResourceObject{
			RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{Selector: spec("of")},
			Namespace:                 &v1alpha1.RelatedResourceObjectSpec{Selector: spec("in")},
		},
	}, Pair{Workspace: secret, Service: secret})
	if err != nil {
		t.Fatal(err)
	}
	caches := Side{Cache: func(schema.GroupVersionResource) Cache { return echo{} }}
	var wg sync.WaitGroup
	for i := range 8 {
		p := selected(i)
		label := fmt.Sprintf("-c%d-web%d", i, i)
		copied := fmt.Sprintf("copy%d-", i)
		want := [][2]types.NamespacedName{{
			{Namespace: "in" + label, Name: "of" + label}, {
				Namespace: copied + "in" + label, Name: copied + "of" + label,
			},
		}}
		wg.Go(func() {
			for range 200 {
				all, err := r.resolve(p, caches, func(string) error { return nil })
				var got [][2]types.NamespacedName
				for _, m := range all {
					got = append(got, [2]types.NamespacedName{m.from.NamespacedName(), m.to.NamespacedName()})
				}
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("object %d: want what it selects and no more, got error %v, -want, +got:\n%s", i, err,
						diff)
					return
				}
			}
		})
	}
	wg.Wait()
}
