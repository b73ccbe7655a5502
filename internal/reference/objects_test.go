package reference

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/crossplane-contrib/provider-kcp/apis"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// indexer gives an index to a client that holds a few Objects.
type indexer struct{ *fake.ClientBuilder }

// IndexField adds an index.
func (i indexer) IndexField(_ context.Context, o client.Object, field string, f client.IndexerFunc) error {
	i.WithIndex(o, field, f)
	return nil
}

// cached returns a Resolver of which the cache holds some Objects, and who is woken.
func cached(t *testing.T, objs ...*mobjectv1alpha1.Object) (*Resolver, func() []string) {
	t.Helper()
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	var woken []string
	gk := mobjectv1alpha1.ObjectGroupVersionKind.GroupKind()
	r := &Resolver{
		options: Options{Owned: ownsAll, Wake: func(o informer.Owner) { woken = append(woken, o.Name) }},
		kinds: map[schema.GroupKind]Kind{gk: {
			GVK: mobjectv1alpha1.ObjectGroupVersionKind, Namespaced: true,
			New:     func() Object { return &mobjectv1alpha1.Object{} },
			NewList: func() resource.ManagedList { return &mobjectv1alpha1.ObjectList{} },
		}},
	}
	b := fake.NewClientBuilder().WithScheme(s)
	if err := r.Serve(t.Context(), indexer{b}, gk); err != nil {
		t.Fatal(err)
	}
	for _, o := range objs {
		b.WithObjects(o)
	}
	r.options.Cache = b.Build()
	return r, func() []string { slices.Sort(woken); return woken }
}

// named returns an Object with references.
func named(name string, refs ...commonv1.Reference) *mobjectv1alpha1.Object {
	o := &mobjectv1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	o.Desired().References = refs
	return o
}

// showing returns an Object that shows a color.
func showing(color string) *mobjectv1alpha1.Object {
	o := named("source")
	o.SetLabels(map[string]string{"app": "web"})
	o.Observed().Manifest.Raw = []byte(`{"data":{"color":"` + color + `"}}`)
	return o
}

// reading refers to a field of an Object, or of those with a label.
func reading(field, name string, labels map[string]string) commonv1.Reference {
	return commonv1.Reference{FromObject: &commonv1.FromObject{Name: name, MatchLabels: labels, FieldPath: field}}
}

// TestHiddenValues shows that a reference to what the status hides of a Secret is refused with the cure.
func TestHiddenValues(t *testing.T) {
	r, _ := cached(t)
	r.options.Sanitized = true
	secret := named("source")
	secret.Observed().Manifest.Raw = []byte(`{"apiVersion":"v1","kind":"Secret","data":{"redacted":null}}`)
	for field, want := range map[string]xpv2.ConditionReason{
		"status.atProvider.manifest": commonv1.ReasonInvalidReference, "status.atProvider.manifest.kind": "", "status": "",
		"status.atProvider.manifest.data.a": commonv1.ReasonInvalidReference,
	} {
		ref := &Reference{GVK: mobjectv1alpha1.ObjectGroupVersionKind, From: field}
		_, err := r.contentOf(t.Context(), Referrer{Object: named("reader")}, Referrer{Object: secret}, ref)
		if got := ReasonOf(err); got != want || got != "" && !strings.Contains(err.Error(), "connectionDetails") {
			t.Errorf("%s: want reason %q, got %v", field, want, err)
		}
	}
}

func TestReads(t *testing.T) {
	const color, shape = "status.atProvider.manifest.data.color", "status.atProvider.manifest.data.shape"
	web, database := map[string]string{"app": "web"}, map[string]string{"app": "database"}
	for name, tc := range map[string]struct {
		reason string
		refs   []commonv1.Reference
		same   bool // the color does not change
		want   bool
	}{
		"Nobody": {"Nobody refers to it.", nil, false, false},
		"Healthy": {
			"Who waits for its health reads all of it.",
			[]commonv1.Reference{{DependsOn: &commonv1.DependsOn{Name: "source", WaitFor: commonv1.WaitForHealthy}}},
			false, true,
		},
		"Query": {
			"Who waits for a query does.",
			[]commonv1.Reference{{DependsOn: &commonv1.DependsOn{Name: "source", CelQuery: "true"}}},
			false, true,
		},
		"QueryOfOther": {
			"It must be a query about it.",
			[]commonv1.Reference{
				{DependsOn: &commonv1.DependsOn{Name: "other", CelQuery: "true"}}, reading(shape, "source", nil),
			},
			false, false,
		},
		"Reader": {"A field that is read differs.", []commonv1.Reference{reading(color, "source", nil)}, false, true},
		"Same":   {"A field that is read is the same.", []commonv1.Reference{reading(color, "source", nil)}, true, false},
		"Else":   {"Another field is read.", []commonv1.Reference{reading(shape, "source", nil)}, false, false},
		"Depends": {
			"Who depends on it reads nothing.",
			[]commonv1.Reference{{DependsOn: &commonv1.DependsOn{Name: "source"}}},
			false,
			false,
		},
		"Other": {
			"Of another Object it is read.",
			[]commonv1.Reference{reading(color, "other", nil), reading(shape, "source", nil)},
			false, false,
		},
		"Selected":     {"Who selects it reads it.", []commonv1.Reference{reading(color, "", web)}, false, true},
		"SelectsOther": {"Who selects others does not.", []commonv1.Reference{reading(color, "", database)}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := cached(t, named("reader", tc.refs...))
			is := showing("red")
			if tc.same {
				is = showing("blue")
			}
			if got := r.Reads(mobjectv1alpha1.ObjectGroupVersionKind, showing("blue"), is); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestReadsNoMore shows that an Object which has its resource waits for the health of nothing.
func TestReadsNoMore(t *testing.T) {
	made := showing("green")
	made.Name, made.Labels = "reader", nil
	made.Desired().References = []commonv1.Reference{{
		DependsOn: &commonv1.DependsOn{Name: "source", WaitFor: commonv1.WaitForHealthy, CelQuery: "true"},
	}}
	r, _ := cached(t, made)
	if r.Reads(mobjectv1alpha1.ObjectGroupVersionKind, showing("blue"), showing("red")) {
		t.Error("the status of the other may be written later")
	}
}

// TestHandler shows who is woken by a change of an Object.
func TestHandler(t *testing.T) {
	pinning := named("pinning")
	pinning.Observed().References = []commonv1.PinnedReference{{
		APIVersion: mobjectv1alpha1.ObjectGroupVersionKind.GroupVersion().String(), Kind: "Object",
		Namespace: "default", Name: "source",
	}}
	others := []*mobjectv1alpha1.Object{
		pinning, named("reading", reading("metadata.uid", "source", nil)), named("other", reading("metadata.uid", "x", nil)),
		named("selecting", reading("metadata.uid", "", map[string]string{"app": "web"})),
		named("selecting-none", reading("metadata.uid", "", map[string]string{"app": "y"})),
	}
	all := []string{"pinning", "reading", "selecting"}
	for name, tc := range map[string]struct {
		reason string
		change func(o *mobjectv1alpha1.Object)
		want   []string
	}{
		"Nothing": {reason: "A change of nothing wakes nobody.", change: func(*mobjectv1alpha1.Object) {}},
		"Content": {
			reason: "All who refer to it are woken.",
			change: bump(func(o client.Object) { o.SetGeneration(2) }),
			want:   all,
		},
		"LosesLabels": {
			reason: "Also those who do so no more.",
			change: bump(func(o client.Object) { o.SetLabels(nil) }),
			want:   all,
		},
		"Finalizer": {
			reason: "A finalizer is of watchRequest for the one it is of.",
			change: bump(func(o client.Object) { o.SetFinalizers([]string{commonv1.FinalizerReferredPrefix + "reading"}) }),
			want:   []string{"reading"},
		},
		"ForeignFinalizer": {
			reason: "One of somebody else is of watchRequest for nobody.",
			change: bump(func(o client.Object) { o.SetFinalizers([]string{"example.org/theirs"}) }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, woken := cached(t, others...)
			is := showing("blue")
			tc.change(is)
			r.Handler(mobjectv1alpha1.ObjectGroupVersionKind).Update(t.Context(),
				event.UpdateEvent{ObjectOld: showing("blue"), ObjectNew: is}, nil)
			if diff := cmp.Diff(tc.want, woken()); diff != "" {
				t.Errorf("%s\nwoken: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// bump makes a change that has another resource version.
func bump(change func(client.Object)) func(*mobjectv1alpha1.Object) {
	return func(o *mobjectv1alpha1.Object) {
		o.SetResourceVersion("2")
		change(o)
	}
}
