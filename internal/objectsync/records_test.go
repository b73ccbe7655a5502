package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// inVersion returns an API in another version.
func inVersion(r objectsync.Resource, version string) objectsync.Resource {
	r.Version = version
	return r
}

// relating returns a syncer of plains with one related thing, named rel.
func (w *world) relating(version string, related v1alpha1.RelatedResource) *objectsync.Syncer {
	w.Helper()
	template := &v1alpha1.TemplateExpression{Template: "rel"}
	related.Object = new(located(v1alpha1.RelatedResourceObjectSpec{Template: template}))
	return w.newSyncer(objectsync.Config{
		Spec:    &v1alpha1.PublishedResourceSpec{Related: []v1alpha1.RelatedResource{related}},
		Primary: plains,
		Related: map[string]objectsync.Pair{related.Name(): {
			Workspace: inVersion(things.Workspace, version), Service: inVersion(things.Service, version),
		}},
	})
}

// TestTwoNamesOfOne shows that an object may refer to one Secret by two rules: the one copy comes without a word, stays
// as long as one of them names it, and goes with the object.
func TestTwoNamesOfOne(t *testing.T) {
	w := newWorld(t)
	spec := related(v1alpha1.OriginKCP, byReference("spec.admin"))
	also(spec, "user", v1alpha1.OriginKCP, byReference("spec.user"))
	s := w.syncer(spec)
	src, ns := thing(w.input.Object, set("admin", "creds"), set("user", "creds")), w.input.Object.Namespace
	w.create(w.above, src)
	w.create(w.above, newSecret(ns, "creds", "one"))
	w.create(w.above, newSecret(ns, "other", "two"))
	w.mustSync(s, w.input)
	at := types.NamespacedName{Namespace: w.cluster, Name: "creds"}
	was := w.read(w.input.Service, secret, at)
	w.patch(w.above, src, `{"spec":{"user":"other"}}`)
	w.mustSync(s, w.input)
	if is := w.read(w.input.Service, secret, at); is == nil || is.GetUID() != was.GetUID() ||
		w.secretOf(w.below, w.cluster, "other")["k"] != "two" {
		t.Errorf("want the copy as it was, and that of the other Secret, got %v", is)
	}
	if u := w.read(w.input.Workspace.Side, secret,
		types.NamespacedName{Namespace: ns, Name: "creds"}); len(u.GetFinalizers()) != 1 {
		t.Error("want the Secret held")
	}
	kube.Delete(t, w.above, src)
	w.mustSync(s, w.input)
	if w.secretOf(w.below, w.cluster, "creds") != nil || w.secretOf(w.below, w.cluster, "other") != nil ||
		w.source(w.input) != nil {
		t.Error("something is left")
	}
}

// TestHeldForBothCopies shows that a Secret of which there are two copies is not let go with one of them, not even for
// a moment.
func TestHeldForBothCopies(t *testing.T) {
	w := newWorld(t)
	spec := related(v1alpha1.OriginKCP, byReference("spec.secretA"))
	also(spec, "second", v1alpha1.OriginKCP, byReference("spec.secretB"))
	spec.Mutation = &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{byRegex("spec.secretB", "^", "b-")}}
	s := w.syncer(spec)
	src, ns := thing(w.input.Object, set("secretA", "foo"), set("secretB", "foo")), w.input.Object.Namespace
	w.create(w.above, src)
	w.create(w.above, newSecret(ns, "foo", "one"))
	_, _ = w.sync(s, w.input) // Who holds it second meets a change of the first.
	w.mustSync(s, w.input)
	held := w.read(w.input.Workspace.Side, secret, types.NamespacedName{Namespace: ns, Name: "foo"})
	w.patch(w.above, src, `{"spec":{"secretB":null}}`)
	w.mustSync(s, w.input)
	if w.secretOf(w.below, w.cluster, "foo") == nil || w.secretOf(w.below, w.cluster, "b-foo") != nil {
		t.Error("want the one copy, and the other gone")
	}
	is := w.read(w.input.Workspace.Side, secret, types.NamespacedName{Namespace: ns, Name: "foo"})
	if diff := cmp.Diff(held.Object["metadata"], is.Object["metadata"]); diff != "" || len(is.GetFinalizers()) != 1 {
		t.Errorf("want the Secret held all the time: -before, +after:\n%s", diff)
	}
	kube.Delete(t, w.above, src)
	w.mustSync(s, w.input)
	is = w.read(w.input.Workspace.Side, secret, types.NamespacedName{Namespace: ns, Name: "foo"})
	if w.secretOf(w.below, w.cluster, "foo") != nil || w.source(w.input) != nil || len(is.GetFinalizers()) != 0 {
		t.Error("something is left")
	}
}

// TestNotServed shows that copies of an API which the service cluster does not serve any more keep nobody's objects,
// and that others do that cannot be looked at for now.
func TestNotServed(t *testing.T) {
	gr := things.Service.GroupResource()
	for name, tc := range map[string]struct {
		reason string
		err    error
		ends   bool // The object is deleted.
		held   int
	}{
		"Related": {
			reason: "Without the API there are no copies.",
			err:    apierrors.NewNotFound(gr, ""),
			ends:   false,
			held:   0,
		},
		"End": {reason: "Nor with the end of the object.", err: apierrors.NewNotFound(gr, ""), ends: true, held: 0},
		"Denied": {
			reason: "What must not be looked at may be there.",
			err:    apierrors.NewForbidden(gr, "", errBoom),
			ends:   false,
			held:   1,
		},
		"DeniedAtTheEnd": {
			reason: "And is to go first.",
			err:    apierrors.NewForbidden(gr, "", errBoom),
			ends:   true,
			held:   1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			src := objectOf(plains.Workspace, w.input.Object, map[string]any{})
			w.create(w.above, src)
			at := types.NamespacedName{Namespace: w.input.Object.Namespace, Name: "rel"}
			w.create(w.above, objectOf(things.Workspace, at, map[string]any{}))
			w.mustSync(w.relating("v1", v1alpha1.RelatedResource{Identifier: "rel", Origin: v1alpha1.OriginKCP}),
				w.input)
			if tc.ends {
				kube.Delete(t, w.above, src)
			}
			in := w.input
			in.Service = blindTo(in.Service, things.Service.GroupVersionResource, tc.err)
			if _, err := w.sync(w.syncerOf(plains, &v1alpha1.PublishedResourceSpec{}),
				in); (err != nil) != (tc.held > 0) {
				t.Errorf("%s got %v", tc.reason, err)
			}
			if got := w.read(w.input.Workspace.Side, things.Workspace, at); len(got.GetFinalizers()) != tc.held {
				t.Errorf("%s want %d finalizers of the related object, got %v", tc.reason, tc.held, got.GetFinalizers())
			}
			if there := w.read(w.input.Workspace.Side, plains.Workspace, w.input.Object) != nil; there != (!tc.ends ||
				tc.held > 0) {
				t.Errorf("%s the object is there: %t", tc.reason, there)
			}
		})
	}
}

// TestRelatedWithACopyOfItsOwn shows that a related object which is itself synced is let go by that alone, with its
// copy.
func TestRelatedWithACopyOfItsOwn(t *testing.T) {
	for name, change := range map[string]func(w *world, related, primary *unstructured.Unstructured) error{
		"Deleted": func(w *world, related, _ *unstructured.Unstructured) error {
			return w.above.Delete(w.Context(), related)
		},
		"NotRelated": func(w *world, _, primary *unstructured.Unstructured) error {
			return w.above.Delete(w.Context(), primary)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			own := w.syncer(&v1alpha1.PublishedResourceSpec{})
			relating := w.relating("v1", v1alpha1.RelatedResource{Identifier: "rel", Origin: v1alpha1.OriginKCP})
			one := w.input
			one.Object.Name = "rel"
			related, primary := thing(one.Object), objectOf(plains.Workspace, w.input.Object, map[string]any{})
			w.create(w.above, related)
			w.create(w.above, primary)
			w.mustSync(own, one)
			copied := w.theCopy(w.cluster)
			w.patch(w.below, copied.DeepCopy(), `{"metadata":{"finalizers":["example.org/slow"]}}`)
			w.mustSync(relating, w.input)
			at := types.NamespacedName{Namespace: w.cluster, Name: "rel"}
			if w.read(w.input.Service, things.Service, at) == nil {
				t.Fatal("want a copy as a related object, too")
			}
			if err := change(w, related, primary); err != nil {
				t.Fatal(err)
			}
			w.mustSync(own, one)
			w.mustSync(relating, w.input)
			if got := w.source(one); got == nil || len(got.GetFinalizers()) != 1 ||
				w.read(w.input.Service, things.Service, at) != nil {
				t.Fatalf("want the object until its own copy is gone, got %v", got)
			}
			kube.Delete(t, w.above, related)
			w.mustSync(own, one)
			w.patch(w.below, copied, `{"metadata":{"finalizers":null}}`)
			w.mustSync(own, one)
			if got := w.source(one); got != nil {
				t.Errorf("want the object gone with its copy, got %v", got)
			}
		})
	}
}

// TestStateSurvives shows that nothing is overwritten, refused or left behind if the state of an object has the name of
// another version of the API, or is lost.
func TestStateSurvives(t *testing.T) {
	for name, change := range map[string]func(w *world, state *corev1.Secret){
		"OtherVersion": func(w *world, state *corev1.Secret) {
			former := &corev1.Secret{Type: state.Type, Data: state.Data}
			former.Namespace, former.Name, former.Labels = state.Namespace, state.Name+"0", state.Labels
			w.create(w.below, former)
		},
		"Lost": func(*world, *corev1.Secret) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(v1alpha1.OriginKCP, byReference("spec.secretName"))
			also(spec, "up", v1alpha1.OriginService, byReference("spec.upName"))
			spec.Related[1].Cleanup = true
			s := w.syncer(spec)
			w.create(w.above, thing(w.input.Object, set("upName", "issued")))
			origin := newSecret(w.input.Object.Namespace, "tls", "one")
			w.create(w.above, origin)
			w.ensureNamespace(w.cluster)
			issued := newSecret(w.cluster, "issued", "one")
			w.create(w.below, issued)
			w.mustSync(s, w.input)
			w.patch(w.below, w.theCopy(w.cluster), `{"spec":{"size":7}}`)
			w.patch(w.below, newSecret(w.cluster, "tls", ""), `{"data":{"operators":"b25l"}}`)

			state := w.states()[0]
			kube.Delete(t, w.below, &state)
			change(w, &state)
			w.mustSync(s, w.input)
			if got := w.theCopy(w.cluster).Object["spec"].(map[string]any)["size"]; got != int64(7) {
				t.Errorf("the operator's change of the copy is overwritten: %v", got)
			}
			if got := w.secretOf(w.below, w.cluster, "tls"); got["operators"] != "one" || got["k"] != "one" {
				t.Errorf("the operator's change of the related copy is overwritten: %v", got)
			}
			if n := len(w.states()); n != 1 {
				t.Errorf("want one state, got %d", n)
			}
			w.patch(w.above, origin, `{"data":{"k":"dHdv"}}`)
			w.patch(w.below, issued, `{"data":{"k":"dHdv"}}`)
			w.mustSync(s, w.input)
			if got := w.secretOf(w.below, w.cluster, "tls"); got["operators"] != "one" || got["k"] != "two" {
				t.Errorf("rotated down: got %v", got)
			}
			if got := w.secretOf(w.above, w.input.Object.Namespace, "issued")["k"]; got != "two" {
				t.Errorf("rotated up: got %q", got)
			}
			w.delete(w.input)
			w.mustSync(s, w.input)
			if err := w.above.Get(t.Context(), client.ObjectKeyFromObject(origin), origin); err != nil ||
				len(origin.Finalizers) > 0 {
				t.Errorf("finalizers left: %v, %v", origin.Finalizers, err)
			}
			if w.source(w.input) != nil || len(w.copies(w.cluster))+len(w.states()) > 0 ||
				w.secretOf(w.below, w.cluster, "tls") != nil ||
				w.secretOf(w.above, w.input.Object.Namespace, "issued") != nil {
				t.Error("something is left behind")
			}
		})
	}
}
