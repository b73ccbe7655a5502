package object_test

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

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
