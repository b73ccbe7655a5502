package object_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// denseObjects is the variable with the number of Objects that depend on each other. 80 have 3,160 references.
const denseObjects = "DENSE_OBJECTS"

// TestDenseReferences makes Objects that each depend on all before them. It shows that they become
// ready, hold up no Object of another tenant, and can be deleted. Finalizers of several dependents come with one
// request.
func TestDenseReferences(t *testing.T) {
	crowd := 30
	if v := os.Getenv(denseObjects); v != "" {
		var err error
		if crowd, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		other := newWorld(t, c, s)
		kube.Figure(t, "time until an Object of another tenant is ready, alone",
			func() time.Duration { return other.timeToReady(t, "alone") })
		w := newWorld(t, c, s)
		all := make([]build.Object, crowd)
		var refs []commonv1.Reference
		audit := local.Audit(t)
		mark := audit.Mark()
		begin := time.Now()
		for i := range all {
			all[i] = w.keeper(strconv.Itoa(i), refs...)
			refs = append(refs[:i:i], w.on(strconv.Itoa(i)))
			kube.Create(t, c, all[i])
		}
		kube.Figure(t, "time until an Object of another tenant is ready, beside many that depend on each other",
			func() time.Duration { return other.timeToReady(t, "beside") })
		kube.Figure(t, "time until all that depend on each other are ready", func() time.Duration {
			for i := range all {
				awaitReady(t, c, all[i])
			}
			return time.Since(begin)
		})
		for i, o := range all {
			if got := len(o.Observed().References); got != i {
				t.Errorf("%s: want %d references recorded, got %d", o.GetName(), i, got)
			}
			kube.Get(t, c, client.ObjectKeyFromObject(o), o)
			if got := len(o.GetFinalizers()); got != crowd-i {
				t.Errorf("%s: want its own finalizer and those of %d dependents, got %d", o.GetName(), crowd-i-1, got)
			}
		}
		if got := about(audit.Since(mark).By(user),
			w).Count()["patch objects.kubernetes.crossplane.io"]; got >= crowd*(crowd-1)/2 {
			t.Errorf("patches of Objects: want fewer than references, as those of several dependents are made together, got %d",
				got)
		}
		for _, o := range slices.Backward(all) {
			kube.Delete(t, c, o)
		}
		for _, o := range slices.Backward(all) {
			kube.AwaitGone(t, c, o)
		}
	})
}

// timeToReady returns how long a new Object takes to be ready.
func (w world) timeToReady(t *testing.T, name string) time.Duration {
	t.Helper()
	o := w.keeper(name)
	begin := time.Now()
	kube.Create(t, w.c, o)
	kube.Await(t, w.c, o, o.GetName()+" to be ready", func() (bool, string) {
		return o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue, conditions(o)
	})
	return time.Since(begin)
}

// TestCrowdedReference shows that many Objects which refer to one resource, made and deleted together, do not get in
// each other's way: the finalizers of many come and go with one request, and none of them fails. A defect of
// provider-kubernetes: a finalizer that meets a conflict is missing for good.
func TestCrowdedReference(t *testing.T) {
	const crowd = 60
	forWorlds(t, func(t *testing.T, w world) {
		source := w.source(t, "source", nil)
		all := make([]build.Object, crowd)
		audit := local.Audit(t)
		mark := audit.Mark()
		patches := func() kube.Requests {
			var found kube.Requests
			for _, e := range about(audit.Since(mark).By(user), w) {
				if e.Verb == "patch" && e.Subject() == "configmaps" {
					found = append(found, e)
				}
			}
			return found
		}
		for i := range all {
			all[i] = w.keeper(strconv.Itoa(i), w.onConfigMap("source"))
			kube.Create(t, w.c, all[i])
		}
		for _, o := range all {
			awaitReady(t, w.c, o)
			awaitPinned(t, w.c, o, source, true)
		}
		t.Logf("patches: %d", len(patches()))
		if got := patches(); len(got) == 0 || len(got) > crowd {
			t.Errorf("patches of the one resource: want at most %d, got\n%s", crowd, got)
		}

		mark = audit.Mark()
		for _, o := range all {
			kube.Delete(t, w.c, o)
		}
		for _, o := range all {
			kube.AwaitGone(t, w.c, o)
		}
		if got := patches(); len(got) == 0 || len(got) > crowd {
			t.Errorf("patches of the one resource in the end: want at most %d, got\n%s", crowd, got)
		}
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil ||
			len(source.GetFinalizers()) > 0 {
			t.Errorf("nothing must be stranded, got %v, %v", source.GetFinalizers(), err)
		}
	})
}

// TestRandomReferencesVanish makes Objects that refer to each other at random, in cycles, too, changes references of
// some, and deletes all in random order. It shows that all of them go, and that no finalizer is left on what others
// keep.
func TestRandomReferencesVanish(t *testing.T) {
	const objects, sources = 50, 3
	forWorlds(t, func(t *testing.T, w world) {
		random := rand.New(rand.NewPCG(1, 50))
		var kept []*corev1.ConfigMap
		for i := range sources {
			kept = append(kept, w.source(t, "source"+strconv.Itoa(i), nil))
		}
		some := func() []commonv1.Reference {
			var refs []commonv1.Reference
			for range random.IntN(3) {
				refs = append(refs, w.on(strconv.Itoa(random.IntN(objects))))
			}
			if random.IntN(2) == 0 {
				refs = append(refs, w.onConfigMap("source"+strconv.Itoa(random.IntN(sources))))
			}
			return refs
		}
		all := make([]build.Object, objects)
		for i := range all {
			all[i] = w.keeper(strconv.Itoa(i), some()...)
			kube.Create(t, w.c, all[i])
		}
		for range objects / 2 {
			setReferences(t, w.c, all[random.IntN(objects)], some()...)
		}
		for _, i := range random.Perm(objects) {
			if random.IntN(4) == 0 {
				setReferences(t, w.c, all[i], some()...)
			}
			kube.Delete(t, w.c, all[i])
		}
		for _, o := range all {
			kube.AwaitGone(t, w.c, o)
		}
		for _, cm := range kept {
			kube.Await(t, w.c, cm, cm.GetName()+" to have no finalizer", func() (bool, string) {
				return len(cm.GetFinalizers()) == 0, strconv.Itoa(len(cm.GetFinalizers()))
			})
		}
	})
}
