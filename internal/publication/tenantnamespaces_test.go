package publication

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestTenantNamespaces shows how many namespaces are looked at for one workspace, that another one has as many, and who
// is tried again when one is given up.
func TestTenantNamespaces(t *testing.T) {
	n := newTenantNamespaces()
	one, two, other := in("a", "one"), in("a", "two"), in("b", "other")
	for i := range objectsync.NamespacesMax {
		if !n.claim(one, fmt.Sprint("ns", i)) {
			t.Fatalf("want room for %d, there was for %d", objectsync.NamespacesMax, i)
		}
	}
	for _, step := range []struct {
		reason    string
		object    objectsync.Primary
		namespace string
		want      bool
	}{
		{reason: "There is no room for another one.", object: one, namespace: "more", want: false},
		{reason: "Nor for another object of the workspace.", object: two, namespace: "more", want: false},
		{reason: "What is looked at already costs nothing.", object: two, namespace: "ns0", want: true},
		{reason: "Another workspace has room of its own.", object: other, namespace: "more", want: true},
	} {
		if got := n.claim(step.object, step.namespace); got != step.want {
			t.Errorf("%s want %t, got %t", step.reason, step.want, got)
		}
	}
	if got := n.keep(two, nil); got != nil {
		t.Errorf("want nobody woken by who gives up what another needs, got %v", got)
	}
	if diff := cmp.Diff([]objectsync.Primary{one}, n.keep(one, set[string]{"ns0": {}})); diff != "" {
		t.Errorf("woken when there is room: -want, +got:\n%s", diff)
	}
	if !n.claim(two, "more") {
		t.Error("want room after others have been given up")
	}
	for _, p := range []objectsync.Primary{one, two, other} {
		n.keep(p, nil)
	}
	if len(n.used)+len(n.full) > 0 {
		t.Errorf("want nothing kept, got %v %v", n.used, n.full)
	}
}
