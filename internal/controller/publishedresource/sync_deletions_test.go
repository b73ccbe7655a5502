package publishedresource_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncDeletionsLookSeldom shows that the deletion of 200 objects of a workspace makes a look at its bindings every
// half second at most.
func TestSyncDeletionsLookSeldom(t *testing.T) {
	const many, every = 200, time.Second / 2
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.Related = nil })
	in := s.tenant(t)
	s.createCerts(t, in, many)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == many })
	audit := kube.AuditOf(t, workspaces.AuditLog())
	mark, began := audit.Mark(), time.Now()
	var g errgroup.Group
	g.SetLimit(creators)
	for i := range many {
		g.Go(func() error { return in.Delete(t.Context(), s.cert(fmt.Sprintf("web-%d", i))) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "all copies to be gone", func() (bool, string) {
		all := s.copies(t, in)
		return len(all) == 0, strconv.Itoa(len(all))
	})
	took, looks := time.Since(began), 0
	for _, e := range audit.Since(mark).By(agentUser) {
		if e.Verb == "list" && e.Resource == "apibindings" {
			looks++
		}
	}
	if most := int(took/every) + 1; looks == 0 || looks > most {
		t.Errorf("want one look at least and %d at most in %s, got %d", most, took, looks)
	}
	t.Logf("%d looks in %s", looks, took)
}
