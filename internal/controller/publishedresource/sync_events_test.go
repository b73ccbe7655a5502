package publishedresource_test

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// creators is how many objects the tests of events create at a time.
const creators = 16

// createCerts creates many Certs in a workspace.
func (s *shop) createCerts(t *testing.T, in tenant, count int) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(creators)
	for i := range count {
		g.Go(func() error { return in.Create(t.Context(), s.cert(fmt.Sprintf("web-%d", i))) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// eventsOf returns how often events tell a workspace of something, by reason.
func eventsOf(t *testing.T, in tenant) map[string]int {
	t.Helper()
	list := &corev1.EventList{}
	kube.List(t, in, list, client.InNamespace(metav1.NamespaceDefault))
	out := map[string]int{}
	for _, e := range list.Items {
		out[e.Reason] += int(e.Count)
	}
	return out
}

// TestConsumersEvents shows that each of 20 workspaces gets all events about objects that are created in all of them at
// once: 2,000 for 1,000 objects. With EVENTS_BURST, one workspace creates so many, and that costs no other an event.
func TestConsumersEvents(t *testing.T) {
	const workspaceCount, each = 20, 50
	burst := kube.Setting(t, "EVENTS_BURST", each)
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.Related = nil })
	tenants := make([]tenant, workspaceCount)
	for i := range tenants {
		tenants[i] = s.tenant(t)
	}
	for i, in := range tenants {
		count := each
		if i == 0 {
			count = burst
		}
		s.createCerts(t, in, count)
	}
	all := int64(burst + (workspaceCount-1)*each)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == all })
	for i, in := range tenants {
		want := each
		if i == 0 {
			want = min(burst, each)
		}
		kube.Eventually(t, "all events in workspace "+in.cluster, func() (bool, string) {
			got := eventsOf(t, in)
			return got[objectsync.ReasonAccepted] >= want && got[objectsync.ReasonPlaced] >= want,
				fmt.Sprint(got, " dropped ", metricsOf(t, o.GetName()))
		})
	}
	t.Logf("the workspace that created %d objects: %v; dropped: %v", burst, eventsOf(t, tenants[0]),
		metricsOf(t, o.GetName()))
}
