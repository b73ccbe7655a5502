package object_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// shortLived is how many Objects live for a moment in each scope, and authors how many make them at a time.
	shortLived = 300
	authors    = 4
	// momentMost is how long such an Object lives at most: about as long as it takes to give it a finalizer and make
	// its resource.
	momentMost = 15 * time.Millisecond
)

// TestShortLivedObjectsLeaveNothing shows that Objects which are deleted while their first pass is under way leave
// nothing behind: neither a resource on the target nor a finalizer on what they refer to. Their deletion races the
// finalizer, and some of them are gone with it.
func TestShortLivedObjectsLeaveNothing(t *testing.T) {
	c := provide(t)
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c, s)
			shared := w.source(t, "shared", map[string]string{"color": "red"})
			var busy sync.WaitGroup
			for a := range authors {
				busy.Go(func() {
					for i := a; i < shortLived; i += authors {
						w.live(t, fmt.Sprintf("brief-%d", i))
					}
				})
			}
			busy.Wait()
			kube.Eventually(t, "no Object, no resource and no finalizer to be left", func() (bool, string) {
				left := w.left(t, shared)
				return len(left) == 0, fmt.Sprintf("%d: %s", len(left), strings.Join(left[:min(len(left), 10)], ", "))
			})
		})
	}
}

// live creates an Object, changes it and deletes it, all at once.
func (w world) live(t *testing.T, name string) {
	o := w.keeper(name, w.onConfigMap("shared"))
	patch := client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"forProvider":{"manifest":{"data":{"color":"green"}}}}}`))
	if err := w.c.Create(t.Context(), o); err != nil {
		t.Errorf("cannot create: %v", err)
		return
	}
	if err := w.c.Patch(t.Context(), o, patch); err != nil {
		t.Errorf("cannot patch: %v", err)
	}
	time.Sleep(rand.N(momentMost)) // It is to meet each step of a pass, and waits for none.
	if err := w.c.Delete(t.Context(), o); err != nil {
		t.Errorf("cannot delete: %v", err)
	}
}

// left returns what is left of short-lived Objects on both servers.
func (w world) left(t *testing.T, shared *corev1.ConfigMap) []string {
	t.Helper()
	objs, there := w.scope.NewList(), &corev1.ConfigMapList{}
	kube.List(t, w.c, objs)
	kube.List(t, w.tc, there, client.InNamespace(w.target), client.HasLabels{commonv1.LabelKeyManaged})
	kube.Get(t, w.c, client.ObjectKeyFromObject(shared), shared)
	left := slices.Clone(shared.GetFinalizers())
	err := apimeta.EachListItem(objs, func(obj runtime.Object) error {
		if o, ok := obj.(build.Object); ok && strings.HasPrefix(o.GetName(), w.target) {
			left = append(left, "Object "+o.GetName()+" "+conditions(o))
		}
		return nil
	})
	for _, cm := range there.Items {
		left = append(left, "ConfigMap "+cm.GetName())
	}
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// lose creates an Object and deletes it so that the server, which has seen no finalizer, goes on with that only when
// the Object is as far as a function wants it to be. It returns when the Object is gone.
func lose(t *testing.T, w world, o build.Object, far func(build.Object) bool) {
	t.Helper()
	held := local.HoldDeletion(t, w.scope.Resource, func(n types.NamespacedName) bool {
		now := w.scope.New()
		return w.c.Get(t.Context(), n, now) == nil && far(now)
	})
	o.SetLabels(held.Labels)
	setConfig(o, w.config+"-later") // Until the deletion is under way the Object has no target, and no finalizer.
	kube.Create(t, w.c, o)
	awaitEnd := held.Delete(t, w.c, o)
	edit(t, w.c, o, func() { setConfig(o, w.config) })
	awaitEnd()
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(o), w.scope.New()); !apierrors.IsNotFound(err) {
		t.Fatalf("the Object must be gone without its finalizer having been removed: %v", err)
	}
}

// TestLostObject shows what becomes of an Object that is gone although the server has accepted its finalizer, and that
// one of its name is reconciled once that is finished with.
func TestLostObject(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		pinned := func(o build.Object) bool { return len(o.Observed().References) > 0 }
		settled := func(o build.Object) bool { return o.GetCondition(ready.Type).Status == corev1.ConditionTrue }
		for name, tc := range map[string]struct {
			reason string
			far    func(build.Object) bool
			change func(build.Object)
			stays  bool
		}{
			"InFirstPass": {reason: "What it makes after that goes.", far: pinned},
			"Settled": {
				reason: "What it has made goes, however long the server has taken to delete it.",
				far:    settled,
			},
			"Orphan": {
				reason: "What its policies do not let it delete stays.", far: settled, stays: true,
				change: func(o build.Object) { o.SetManagementPolicies(neverDelete) },
			},
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, c, s)
				source := w.source(t, "source", nil)
				o := w.keeper("settings", w.onConfigMap("source"))
				if tc.change != nil {
					tc.change(o)
				}
				lose(t, w, o, tc.far)
				awaitPinned(t, c, o, source, false)
				t.Log(tc.reason)
				w.exists(t, w.kept("settings"), tc.stays)
				next := w.keeper("settings")
				next.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "others", "color", "red"))
				createReady(t, c, next)
				w.awaitData(t, "others", "color", "red")
			})
		}
	})
}

// TestReplacedNamesake shows that an Object which is made in place of one whose finalizer somebody has taken off,
// while a write for that one is under way, gets nothing of its record: it would delete what that one has left.
func TestReplacedNamesake(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		var armed atomic.Bool
		held, passed := make(chan struct{}), make(chan struct{})
		w := newWorldOf(t, c, s, kube.Front(t, targetUser(t), func(server http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPatch && armed.CompareAndSwap(true, false) {
					close(held)
					<-passed
				}
				server.ServeHTTP(rw, r)
			})
		}))
		o := w.object(build.ConfigMap(w.target, "left", "color", "blue"))
		o.SetManagementPolicies(neverDelete)
		createReady(t, c, o)
		armed.Store(true)
		setManifest(t, c, o, build.ConfigMap(w.target, "left", "color", "green"))
		<-held
		kube.Delete(t, c, o)
		kube.Patch(t, c, o, `{"metadata":{"finalizers":null}}`)
		kube.AwaitGone(t, c, o)
		next := w.object(build.ConfigMap(w.target, "next"))
		kube.Create(t, c, next)
		close(passed)
		awaitReady(t, c, next)
		w.awaitData(t, "next")
		w.awaitData(t, "left", "color", "green")
		kube.Remove(t, c, next)
	})
}
