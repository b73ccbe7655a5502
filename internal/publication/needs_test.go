package publication

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestReplaceNeeds shows that what nobody needs any more is named, and nothing is kept of it.
func TestReplaceNeeds(t *testing.T) {
	d := newDependencies(nil, nil)
	a, b := in("a", "1"), in("b", "1")
	x, y, z := secret("", "ns", "x"), secret("", "ns", "y"), secret("", "ns", "z")
	d.replace(a, set[need]{x: {}, y: {}})
	d.replace(b, set[need]{y: {}})
	if over := d.replace(a, set[need]{z: {}}); len(over) != 1 || over[0] != x {
		t.Errorf("want x over, got %v", over)
	}
	if diff := cmp.Diff([]objectsync.Primary{b}, d.by(y)); diff != "" {
		t.Errorf("who needs y: -want, +got:\n%s", diff)
	}
	d.replace(a, nil)
	if over := d.replace(b, nil); len(over) != 1 || over[0] != y {
		t.Errorf("want y over, got %v", over)
	}
	if len(d.needs)+len(d.needed) != 0 {
		t.Errorf("it keeps %v %v", d.needs, d.needed)
	}
}

// TestTenantNamespaces shows how many namespaces are looked at for one workspace, that another one has as many, and who
// is tried again when one is given up.
func TestTenantNamespaces(t *testing.T) {
	p := newTestPublication(t)
	claim := func(item objectsync.Primary, namespace string) bool {
		_, ok := p.worker.needs.claim(item, namespace)
		return ok
	}
	one, two, other := in("a", "one"), in("a", "two"), in("b", "other")
	for i := range objectsync.NamespacesMax {
		if !claim(one, fmt.Sprint("ns", i)) {
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
		if got := claim(step.object, step.namespace); got != step.want {
			t.Errorf("%s want %t, got %t", step.reason, step.want, got)
		}
	}
	p.worker.needs.set(other, nil)
	if got := drain(p.worker.objects.queue); got != nil {
		t.Errorf("want nobody woken by another workspace, got %v", got)
	}
	p.worker.needs.set(one, set[need]{
		{NamespacedName: types.NamespacedName{Namespace: "ns0"}, cluster: "a", use: useNamespace}: {},
	})
	if item, _ := p.worker.objects.queue.Get(); item != two {
		t.Errorf("want the one tried that waits, got %v", item)
	}
	if !claim(two, "more") {
		t.Error("want room after others have been given up")
	}
	for _, item := range []objectsync.Primary{one, two, other} {
		p.worker.needs.set(item, nil)
	}
	if all := p.worker.needs.of; len(all) > 0 {
		t.Errorf("want nothing kept, got %v", all)
	}
}
