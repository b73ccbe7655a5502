package xpkg

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/pkg/errors"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// standing is how many Objects are there before the upgrade, and stay.
	standing = 100
	// keptOf: one of so many that come during the upgrade stays; the others are deleted again.
	keptOf = 3
)

// upgrade shows that Objects which are created, changed and deleted while one revision of the package takes over from
// another end as if nothing had happened, and that what was there is not touched.
func (s *stage) upgrade(t *testing.T) {
	s.apply(t, "rbac/leader-election.yaml")
	for i := range standing {
		kube.Create(t, s.c, s.object("standing-"+strconv.Itoa(i), "blue"))
	}
	s.awaitColors(t, standing, func(string) string { return "blue" })
	before := s.identities(t)
	revision := s.revision(t)
	next := push(t, "v0.1.1")

	ctx, cancel := context.WithCancel(t.Context())
	coming := &errgroup.Group{}
	var came, gone []string
	coming.Go(func() error {
		for i := 0; ctx.Err() == nil; i++ {
			name := "came-" + strconv.Itoa(i)
			if err := s.comes(t.Context(), name, i%keptOf > 0); err != nil {
				return err
			}
			if i%keptOf > 0 {
				gone = append(gone, name)
			} else {
				came = append(came, name)
			}
		}
		return nil
	})
	t.Cleanup(func() { cancel(); _ = coming.Wait() })

	kube.Patch(t, s.c, s.provider(t), fmt.Sprintf(`{"spec":{"package":%q}}`, next))
	s.awaitRevision(t, revision)
	last := s.object("last", "blue")
	kube.Create(t, s.c, last)
	s.awaitReady(t, last) // By the new one, which does not wait for the lease of the old one to run out.
	kube.Remove(t, s.c, last)
	cancel()
	if err := coming.Wait(); err != nil {
		t.Fatal(err)
	}
	s.awaitColors(t, standing+len(came), func(name string) string {
		if slices.Contains(came, name) {
			return "red"
		}
		return "blue"
	})
	for _, name := range gone {
		kube.AwaitGone(t, s.c, &mobjectv1alpha1.Object{ObjectMeta: build.Meta(s.ns, name)})
		cm := &corev1.ConfigMap{}
		if err := s.tc.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: name}, cm); err == nil {
			t.Errorf("%s: it is still there though its Object is gone", name)
		}
	}
	after := s.identities(t)
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("%s: it is another one than before", name)
		}
	}
}

// comes creates an Object, changes it, and deletes it if it is to go. A server that deletes one without a finalizer
// forgets a finalizer that is added meanwhile, unless it is told which version to delete.
func (s *stage) comes(ctx context.Context, name string, goes bool) error {
	o := s.object(name, "blue")
	if err := s.c.Create(ctx, o); err != nil {
		return errors.Wrap(err, "cannot create Object")
	}
	patch := `{"spec":{"forProvider":{"manifest":{"data":{"color":"red"}}}}}`
	err := s.c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))
	if err != nil || !goes {
		return errors.Wrap(err, "cannot change Object")
	}
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := s.c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		version := o.GetResourceVersion()
		return s.c.Delete(ctx, o, client.Preconditions{ResourceVersion: &version})
	})
	return errors.Wrap(err, "cannot delete Object")
}

// object returns an Object for a ConfigMap of its name with a color.
func (s *stage) object(name, color string) build.Object {
	return build.Namespaced().Object(s.ns, name, "target", build.ConfigMap(s.ns, name, "color", color))
}

// revision returns the name of the current revision of the package.
func (s *stage) revision(t *testing.T) string {
	t.Helper()
	r, _, err := unstructured.NestedString(s.provider(t).Object, "status", "currentRevision")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// awaitRevision waits until another revision of the package than the old one runs, alone.
func (s *stage) awaitRevision(t *testing.T, old string) {
	t.Helper()
	kube.Eventually(t, "the pod of the new revision, alone", func() (bool, string) {
		pods := &corev1.PodList{}
		err := s.c.List(t.Context(), pods, client.InNamespace("crossplane-system"))
		now := s.revision(t)
		alone := len(pods.Items) == 1 && pods.Items[0].GetLabels()["pkg.crossplane.io/revision"] == now
		return now != old && alone && s.kubelet.Processes() == 1,
			fmt.Sprintf("revision %s, %d pods, read: %s", now, len(pods.Items), fmt.Sprint(err))
	})
	s.awaitProvider(t, "Installed", "Healthy")
}

// awaitColors waits until there is a number of Objects, all are ready, and each has a ConfigMap with its color.
func (s *stage) awaitColors(t *testing.T, want int, color func(name string) string) {
	t.Helper()
	kube.Eventually(t, strconv.Itoa(want)+" Objects to be ready", func() (bool, string) {
		objects := &mobjectv1alpha1.ObjectList{}
		if err := s.c.List(t.Context(), objects, client.InNamespace(s.ns)); err != nil {
			return false, err.Error()
		}
		cms := &corev1.ConfigMapList{}
		if err := s.tc.List(t.Context(), cms, client.InNamespace(s.ns)); err != nil {
			return false, err.Error()
		}
		colors := map[string]string{}
		for _, cm := range cms.Items {
			colors[cm.GetName()] = cm.Data["color"]
		}
		ready := 0
		for i := range objects.Items {
			o := &objects.Items[i]
			if o.GetCondition("Ready").Status == corev1.ConditionTrue &&
				o.GetCondition("Synced").Status == corev1.ConditionTrue &&
				colors[o.GetName()] == color(o.GetName()) {
				ready++
			}
		}
		return ready == want && len(objects.Items) == want,
			fmt.Sprintf("%d of %d as they should be", ready, len(objects.Items))
	})
}

// identities returns the UIDs of the ConfigMaps on the target, by name.
func (s *stage) identities(t *testing.T) map[string]types.UID {
	t.Helper()
	cms := &corev1.ConfigMapList{}
	kube.List(t, s.tc, cms, client.InNamespace(s.ns))
	uids := map[string]types.UID{}
	for _, cm := range cms.Items {
		uids[cm.GetName()] = cm.GetUID()
	}
	return uids
}
