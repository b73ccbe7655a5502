package objectsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// related returns a spec with one related Secret.
func related(origin v1alpha1.Origin, object v1alpha1.RelatedResourceObject) *v1alpha1.PublishedResourceSpec {
	return &v1alpha1.PublishedResourceSpec{Related: []v1alpha1.RelatedResource{{
		Identifier: "tls", Origin: origin, Kind: "Secret", Object: &object,
	}}}
}

// open lets values of consumers name everything.
func open(spec *v1alpha1.PublishedResourceSpec) *v1alpha1.PublishedResourceSpec {
	for i := range spec.Related {
		spec.Related[i].ConsumerMayName = &v1alpha1.ConsumerMayName{
			Namespaces: []v1alpha1.NamePattern{"*"}, Objects: []v1alpha1.NamePattern{"*"},
		}
	}
	return spec
}

// also adds a rule with an identifier to a spec.
func also(spec *v1alpha1.PublishedResourceSpec, identifier string, origin v1alpha1.Origin,
	object v1alpha1.RelatedResourceObject,
) {
	added := related(origin, object).Related[0]
	added.Identifier = identifier
	spec.Related = append(spec.Related, added)
}

func byReference(path string) v1alpha1.RelatedResourceObject {
	return v1alpha1.RelatedResourceObject{RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{
		Reference: &v1alpha1.FieldReference{Path: v1alpha1.MutationPath(path)},
	}}
}

// TestRelatedFromService shows the way of a Secret up: it comes, changes and goes with the one on the service cluster.
func TestRelatedFromService(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginService, byReference("spec.secretName")))
	src := thing(w.input.Object)
	w.create(w.above, src)
	all := w.mustSync(s, w.input)
	ns := w.input.Object.Namespace
	if got := all[len(all)-1].Related; len(got) != 1 || got[0].From.Name != "tls" ||
		got[0].From.Namespace != w.cluster || got[0].To.Namespace != ns {
		t.Errorf("what is not there yet has to be known to be waited for, got %v", got)
	}
	origin := newSecret(w.cluster, "tls", "one")
	origin.Labels = map[string]string{"app": "x", "syncagent.kcp.io/agent-name": "x", "crossplane.io/x": "y"}
	w.create(w.below, origin)
	// That a copy is about to be made is remembered, and that it has been.
	above, below := w.writes(func() { w.mustSync(s, w.input) })
	if diff := cmp.Diff([]map[string]int{{"create secrets": 1, "patch things.ws.example.com": 1}, {"patch secrets": 2}},
		[]map[string]int{above, below}); diff != "" {
		t.Errorf("requests: -want, +got:\n%s", diff)
	}
	got, manager := &corev1.Secret{}, objectsync.FieldManagerRelated
	kube.Get(t, w.above, types.NamespacedName{Namespace: ns, Name: "tls"}, got)
	if diff := cmp.Diff(map[string]string{"app": "x"}, got.Labels); diff != "" ||
		len(got.Annotations)+len(got.Finalizers) != 0 || !strings.HasPrefix(got.ManagedFields[0].Manager, manager) {
		t.Errorf("only its field manager says that it is a copy: %s %v %v %v", diff, got.Annotations, got.Finalizers,
			got.ManagedFields)
	}
	annotation := w.source(w.input).GetAnnotations()["related-resources.syncagent.kcp.io/tls.0"]
	if want := `{"namespace":"` + ns + `","name":"tls","apiVersion":"v1","kind":"Secret"}`; annotation != want {
		t.Errorf("annotation: want %s, got %s", want, annotation)
	}
	w.patch(w.below, origin, `{"data":{"k":"dHdv"}}`)
	above, below = w.writes(func() { w.mustSync(s, w.input) })
	if diff := cmp.Diff([]map[string]int{{"patch secrets": 1}, {"patch secrets": 1}},
		[]map[string]int{above, below}); diff != "" {
		t.Errorf("requests for a change: -want, +got:\n%s", diff)
	}
	if got := w.secretOf(w.above, ns, "tls")["k"]; got != "two" {
		t.Errorf("after a change: want two, got %q", got)
	}
	// What is no longer related, or no longer there, leaves no copy behind and no annotation.
	w.create(w.below, newSecret(w.cluster, "other", "three"))
	w.patch(w.above, src, `{"spec":{"secretName":"other"}}`)
	w.mustSync(s, w.input)
	if w.secretOf(w.above, ns, "tls") != nil || w.secretOf(w.above, ns, "other")["k"] != "three" {
		t.Error("after another reference: want the one copy gone and the other there")
	}
	kube.Delete(t, w.below, newSecret(w.cluster, "other", ""))
	w.mustSync(s, w.input)
	if w.secretOf(w.above, ns, "other") != nil || len(w.source(w.input).GetAnnotations()) != 0 {
		t.Errorf("after it is gone at the origin: want no copy and no annotation, got %v",
			w.source(w.input).GetAnnotations())
	}
	w.writesNothing("at rest", s, w.input)
}

// TestRelatedCleanup shows what becomes of copies in the workspace with the object they belong to, also if the rule has
// changed since the object was last synced.
func TestRelatedCleanup(t *testing.T) {
	rename := func(spec *v1alpha1.PublishedResourceSpec) { spec.Related[0].Identifier = "renamed" }
	for name, tc := range map[string]struct {
		reason  string
		cleanup bool
		change  func(*v1alpha1.PublishedResourceSpec)
		stays   bool
	}{
		"Keep":        {reason: "It is to stay.", stays: true},
		"Cleanup":     {reason: "It is to go.", cleanup: true},
		"RenamedKeep": {reason: "It is to stay whatever the rule is called.", change: rename, stays: true},
		"Renamed":     {reason: "It is to go whatever the rule is called.", cleanup: true, change: rename},
		"Removed": {
			reason: "It is not related any more.", cleanup: true,
			change: func(spec *v1alpha1.PublishedResourceSpec) { spec.Related = nil },
		},
		"Beside": {
			reason: "Another rule of the kind does not count beside its own.", cleanup: true,
			change: func(spec *v1alpha1.PublishedResourceSpec) {
				also(spec, "another", v1alpha1.OriginService, byReference("spec.other"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			spec := related(v1alpha1.OriginService, byReference("spec.secretName"))
			spec.Related[0].Cleanup = tc.cleanup
			s, above := w.syncer(spec), workspaceOf(w.input)
			enter(w.input, map[string]any{"secretName": "tls"})
			below.secretIn(w.cluster, "tls", "b25l")
			if err := w.resync(s, w.input); err != nil || above.valueOf("default", "tls") != "b25l" {
				t.Fatalf("want a copy, got %v", err)
			}
			if tc.change != nil {
				tc.change(spec)
			}
			w.remove(w.syncer(spec), w.input)
			if is := above.valueOf("default", "tls") != ""; is != tc.stays || len(below.secretNames("states")) > 0 {
				t.Errorf("%s the copy is there: %t, states: %v", tc.reason, is, below.secretNames("states"))
			}
		})
	}
}

// TestRelatedFromWorkspace shows the way of a Secret down, and that it is held and let go.
func TestRelatedFromWorkspace(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
	src, ns := thing(w.input.Object), w.input.Object.Namespace
	w.create(w.above, src)
	origin, other := newSecret(ns, "tls", "one"), newSecret(ns, "other", "two")
	w.create(w.above, origin)
	w.create(w.above, other)
	w.mustSync(s, w.input)
	finalizers := func(o client.Object) int {
		t.Helper()
		kube.Get(t, w.above, client.ObjectKeyFromObject(o), o)
		return len(o.GetFinalizers())
	}
	if w.secretOf(w.below, w.cluster, "tls")["k"] != "one" || finalizers(origin) != 1 || finalizers(other) != 0 {
		t.Error("want a copy of what is referred to, and that held")
	}
	// What is no longer related is let go.
	w.patch(w.above, src, `{"spec":{"secretName":"other"}}`)
	w.mustSync(s, w.input)
	if w.secretOf(w.below, w.cluster, "tls") != nil || finalizers(origin) != 0 ||
		w.secretOf(w.below, w.cluster, "other")["k"] != "two" || finalizers(other) != 1 {
		t.Error("after another reference: want the one let go and the other held")
	}
	kube.Delete(t, w.above, other)
	w.mustSync(s, w.input)
	if w.secretOf(w.below, w.cluster, "other") != nil || w.secretOf(w.above, ns, "other") != nil {
		t.Error("after its deletion: want neither the Secret nor its copy")
	}
	w.patch(w.above, src, `{"spec":{"secretName":"tls"}}`)
	w.mustSync(s, w.input)
	kube.Delete(t, w.above, src)
	w.mustSync(s, w.input)
	if w.secretOf(w.below, w.cluster, "tls") != nil || finalizers(origin) != 0 || w.source(w.input) != nil ||
		len(w.states()) != 0 {
		t.Error("after the deletion of the object: want no copy, and the Secret let go")
	}
}

// TestRelatedIsolation shows that of two tenants who name one place in a shared namespace the first has it, on
// whichever side the copy is made: the other neither writes nor reads it.
func TestRelatedIsolation(t *testing.T) {
	for _, origin := range []v1alpha1.Origin{v1alpha1.OriginKCP, v1alpha1.OriginService} {
		t.Run(string(origin), func(t *testing.T) {
			w, below := withoutServers(t)
			s, other := w.syncer(open(sharing(related(origin, byReference("spec.secretName"))))), w.neighbor()
			both := []objectsync.Input{w.input, other}
			for _, in := range both {
				enter(in, map[string]any{"secretName": "tls"})
				if origin == v1alpha1.OriginKCP {
					workspaceOf(in).secretIn("default", "tls", in.Workspace.Cluster)
				} else {
					_ = w.resync(s, in) // Both refer to what is not there yet.
				}
			}
			if origin == v1alpha1.OriginService {
				below.secretIn("shared", "tls", w.cluster)
				delete(w.holdings, objectsync.Primary{NamespacedName: other.Object, Cluster: other.Workspace.Cluster})
			}
			for range 2 {
				if err := w.resync(s, w.input); err != nil {
					t.Errorf("want the first synced, got %v", err)
				}
				if err := w.resync(s, other); !errors.Is(err, objectsync.ErrForeign) {
					t.Errorf("want %v for the other, got %v", objectsync.ErrForeign, err)
				}
				if got := below.valueOf("shared", "tls"); got != w.cluster {
					t.Errorf("overwritten: %q", got)
				}
				if origin == v1alpha1.OriginService {
					if got := workspaceOf(other).valueOf("default", "tls"); got != "" {
						t.Errorf("leaked: %q", got)
					}
					continue
				}
				// A copy that somebody has deleted leaves its name to its owner.
				below.drop(objectsync.Secrets, types.NamespacedName{Namespace: "shared", Name: "tls"})
				if err := w.resync(s, other); !errors.Is(err, objectsync.ErrForeign) {
					t.Errorf("want %v for the other, got %v", objectsync.ErrForeign, err)
				}
			}
		})
	}
}

// shared returns two objects in memory that name one Secret, which is not there yet.
func shared(t *testing.T) (w *world, below *memory, s *objectsync.Syncer, second objectsync.Input) {
	t.Helper()
	w, below = withoutServers(t)
	second = w.second()
	enter(w.input, map[string]any{"secretName": "tls"})
	enter(second, map[string]any{"secretName": "tls"})
	return w, below, w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName"))), second
}

// settle syncs objects in memory, one after the other.
func (w *world) settle(s *objectsync.Syncer, all ...objectsync.Input) {
	w.Helper()
	for _, in := range all {
		if err := w.resync(s, in); err != nil {
			w.Fatal(err)
		}
	}
}

// TestSharedRelatedGoes shows that a related object of the workspace that two objects refer to can be deleted: neither
// keeps it for the other.
func TestSharedRelatedGoes(t *testing.T) {
	w, below, s, second := shared(t)
	workspaceOf(w.input).secretIn("default", "tls", "b25l")
	w.settle(s, w.input, second)
	workspaceOf(w.input).end(objectsync.Secrets, types.NamespacedName{Namespace: "default", Name: "tls"})
	w.settle(s, w.input, second)
	if left := slices.Concat(below.secretNames(w.cluster), workspaceOf(w.input).secretNames("default")); len(left) > 0 {
		t.Errorf("want neither the copy nor the object left, got %v", left)
	}
}

// TestSharedRelatedNotKept shows that an object which refers to a related object and has not copied it yet is no reason
// for another to leave its copy behind, which nobody would keep then.
func TestSharedRelatedNotKept(t *testing.T) {
	w, below, s, second := shared(t)
	w.settle(s, second) // It refers to what is not there.
	workspaceOf(w.input).secretIn("default", "tls", "b25l")
	w.settle(s, w.input)
	w.remove(s, w.input)
	w.settle(s, second)
	if below.valueOf(w.cluster, "tls") != "b25l" {
		t.Error("want a copy for the second")
	}
	w.remove(s, second)
	origin := workspaceOf(w.input).get(objectsync.Secrets, types.NamespacedName{Namespace: "default", Name: "tls"})
	if objectsync.HasFinalizer(origin) || below.valueOf(w.cluster, "tls") != "" {
		t.Errorf("want no copy and no finalizer, got %v", origin)
	}
}

// delete deletes the object of the consumer.
func (w *world) delete(in objectsync.Input) {
	w.Helper()
	kube.Delete(w, w.above, thing(in.Object))
}
