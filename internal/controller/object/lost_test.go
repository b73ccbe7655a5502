package object_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
