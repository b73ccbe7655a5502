package olm

import (
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestMadeAgain shows that a ClusterServiceVersion which OLM makes again while its Subscription lives does not stay:
// its Object deletes it again, until the Subscription is gone, and also if the provider is killed meanwhile.
func TestMadeAgain(t *testing.T) {
	forChains(t, func(t *testing.T, b *bed) {
		p := start(t)
		b.install(t)
		release := b.holdSubscription(t)
		b.delete(t)
		b.awaitUninstalled(t, 1)
		p.Kill()

		// Any other Subscription makes OLM look at what all of a namespace ask for.
		other := b.subscribeToOther(t)
		b.awaitMade(t, 2)
		start(t)
		b.awaitUninstalled(t, 2)
		b.remove(t, other)
		b.awaitIdle(t, "no ClusterServiceVersions", func(state string) bool {
			b.remove(t, operated("ClusterServiceVersion", "other.v1.0.0")) // It comes back, too, and has no Object.
			return state == ""
		}, "ClusterServiceVersion")
		release()
		b.awaitObjectsGone(t)
		b.awaitIdle(t, "nothing to come back", func(state string) bool { return state == "" }, "Subscription",
			"InstallPlan", "ClusterServiceVersion")
		b.cleanUp(t)
	})
}

// holdSubscription keeps the Subscription from going until release is called.
func (b *bed) holdSubscription(t *testing.T) (release func()) {
	t.Helper()
	set := func(finalizers ...string) {
		sub := operated("Subscription", "kong")
		kube.Get(t, b.tc, client.ObjectKeyFromObject(sub), sub)
		patch := client.MergeFrom(sub.DeepCopy())
		sub.SetFinalizers(finalizers)
		if err := b.tc.Patch(t.Context(), sub, patch); err != nil {
			t.Fatal(err)
		}
	}
	set("example.org/hold")
	return func() { set() }
}

// awaitMade waits until n ClusterServiceVersions of Kong have been there.
func (b *bed) awaitMade(t *testing.T, n int) {
	t.Helper()
	b.awaitOperators(t, n, "to be made", there)
}

// awaitUninstalled waits until n ClusterServiceVersions of Kong have been there and are gone.
func (b *bed) awaitUninstalled(t *testing.T, n int) {
	t.Helper()
	b.awaitOperators(t, n, "to be gone", gone)
}

func (b *bed) awaitOperators(t *testing.T, n int, what string, are func(happening) bool) {
	t.Helper()
	kube.Eventually(t, "ClusterServiceVersions "+what, func() (bool, string) {
		return len(b.history.uids(csvs, "kong.v0.10.0", are)) >= n, b.state(t) + b.history.String()
	})
}

// uids returns the UIDs of the resources of a name that have been as said.
func (h *history) uids(gvr schema.GroupVersionResource, name string, is func(happening) bool) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var uids []string
	for _, e := range h.events {
		if e.resource == gvr && e.object.GetName() == name && is(e) &&
			!slices.Contains(uids, string(e.object.GetUID())) {
			uids = append(uids, string(e.object.GetUID()))
		}
	}
	return uids
}

// subscribeToOther subscribes to the other operator of the catalog.
func (b *bed) subscribeToOther(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	objects, err := read(filepath.Join("testdata", "other.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kube.Create(t, b.tc, objects[0])
	return objects[0]
}

// remove deletes a resource of the target, if it is there.
func (b *bed) remove(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	if err := b.tc.Delete(t.Context(), o); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// awaitObjectsGone waits until the Objects are gone.
func (b *bed) awaitObjectsGone(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "the Objects to be gone", func() (bool, string) {
		for _, o := range b.objects {
			if err := b.c.Get(t.Context(), client.ObjectKeyFromObject(o), o.DeepCopy()); !apierrors.IsNotFound(err) {
				return false, b.state(t)
			}
		}
		return true, ""
	})
}

// cleanUp removes the rights that OLM leaves when a ClusterServiceVersion goes while it is being installed.
func (b *bed) cleanUp(t *testing.T) {
	t.Helper()
	for _, o := range []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
		if err := b.tc.DeleteAllOf(t.Context(), o, client.MatchingLabels{"olm.owner": "kong.v0.10.0"}); err != nil {
			t.Fatal(err)
		}
	}
}

// operated names a resource of OLM.
func operated(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(csvs.GroupVersion().WithKind(kind))
	u.SetNamespace(operatorsNamespace)
	u.SetName(name)
	return u
}
