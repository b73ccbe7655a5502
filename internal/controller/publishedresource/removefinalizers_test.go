package publishedresource_test

import (
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestOrphanUnholds shows that a PublishedResource which goes and leaves what it has made takes our finalizers off the
// objects and Secrets of consumers, whether or not they were synced by then: nobody else would. Finalizers of others,
// the copies and the states stay, and are found again.
func TestOrphanUnholds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(o *v1alpha1.PublishedResource){
		"Orphan": func(*v1alpha1.PublishedResource) {},
		"Policies": func(o *v1alpha1.PublishedResource) {
			o.Spec.ManagementPolicies = xpv2.ManagementPolicies{"Observe", "Create", "Update"}
		},
		"SyncOff": func(o *v1alpha1.PublishedResource) { o.Spec.Synchronization = &v1alpha1.Synchronization{} },
		"Observe": func(o *v1alpha1.PublishedResource) { o.Spec.ManagementPolicies = xpv2.ManagementPolicies{"Observe"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			o := s.publishCerts(t)
			in := s.tenant(t)
			web, key := s.cert("web"), secretIn(metav1.NamespaceDefault, "key", "a")
			key.SetFinalizers([]string{"example.com/mine"})
			web.Object["spec"].(map[string]any)["keyName"] = key.Name
			kube.Create(t, in, key, web)
			copied := s.copyOf(t, in)
			awaitValue(t, s.c, copied.GetNamespace(), key.Name, "a")
			kube.Eventually(t, "finalizers", func() (bool, string) {
				return slices.Contains(finalizersOf(t, in, web), objectsync.Finalizer) &&
					slices.Contains(finalizersOf(t, in, key), objectsync.Finalizer), ""
			})
			awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 })

			update(t, s.c, o, func() { change(o) })
			remove(t, s.c, o)
			if got := finalizersOf(t, in, web); len(got) > 0 {
				t.Errorf("finalizers of the object: %v", got)
			}
			if got := finalizersOf(t, in, key); !slices.Equal(got, []string{"example.com/mine"}) {
				t.Errorf("finalizers of the Secret: %v", got)
			}
			now := s.copyOf(t, in)
			if now.GetUID() != copied.GetUID() || now.GetDeletionTimestamp() != nil || objectsync.IsOrphaned(now) {
				t.Errorf("want the copy as it was, got %v", now.Object["metadata"])
			}
			awaitValue(t, s.c, copied.GetNamespace(), key.Name, "a")
			s.publishAgain(t, o.Spec.StateNamespace, in)
		})
	}
}

// publishAgain publishes Certs once more: the object is held again, and its copy not written.
func (s *shop) publishAgain(t *testing.T, states string, in tenant) {
	t.Helper()
	version := s.copyOf(t, in).GetResourceVersion()
	o := s.publishedCerts(states)
	kube.Create(t, s.c, o)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Failed == 0 })
	web := s.cert("web")
	if got := finalizersOf(t, in, web); !slices.Contains(got, objectsync.Finalizer) {
		t.Errorf("want the object held again, got %v", got)
	}
	if now := s.copyOf(t, in); now.GetResourceVersion() != version {
		t.Errorf("want the copy not written, got %v", now.Object["metadata"])
	}
	kube.Delete(t, in, web)
	kube.Eventually(t, "no copies", func() (bool, string) {
		all := s.copies(t, in)
		return len(all) == 0, describeAll(all)
	})
}

func finalizersOf(t *testing.T, in tenant, o client.Object) []string {
	t.Helper()
	kube.Get(t, in, client.ObjectKeyFromObject(o), o)
	return o.GetFinalizers()
}
