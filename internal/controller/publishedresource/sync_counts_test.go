package publishedresource_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncCountsSeldom shows that a burst of 200 creates, 20 a second, makes a write of the status each second at
// most, and that the last one has the right counts.
func TestSyncCountsSeldom(t *testing.T) {
	const burst, perSecond, every = 200, 20, time.Second
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.Related = nil })
	in := s.tenant(t)
	kube.Create(t, in, s.cert("first"))
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 })
	audit := local.Audit(t)
	mark, began := audit.Mark(), time.Now()
	pace := rate.NewLimiter(perSecond, 1)
	for i := range burst {
		if err := pace.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		kube.Create(t, in, s.cert(fmt.Sprintf("web-%d", i)))
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == burst+1 })
	writes := 0
	for _, e := range audit.Since(mark).By(user) {
		if e.Resource == "publishedresources" && e.Name == o.GetName() && e.Verb != "get" {
			writes++
		}
	}
	took := time.Since(began)
	if most := int(took/every) + 2; writes > most {
		t.Errorf("want %d writes at most in %s, got %d", most, took, writes)
	}
	t.Logf("%d writes in %s", writes, took)
}
