package publication

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// secret is a Secret of a workspace, or of the service cluster if cluster is empty. Without a name it is all of a
// namespace.
func secret(cluster, namespace, name string) need {
	return lookAt(types.NamespacedName{Namespace: namespace, Name: name}, cluster, objectsync.Secrets)
}

// looking is what objects have looked at, by their names.
var looking = map[string][]need{
	"one":      {secret("", "a", "x"), secret("", "a", "y")},
	"other":    {secret("", "a", "y")},
	"all":      {secret("", "a", "")},
	"allElse":  {secret("", "b", "")},
	"above":    {secret("tenant", "a", "x")},
	"another":  {secret("another", "a", "x")},
	"settings": {lookAt(types.NamespacedName{Namespace: "a", Name: "x"}, "", objectsync.Namespaces)},
}

// TestWake shows that a change concerns those who have looked at what has changed, or at all of its namespace, and
// nobody else: not all objects with a related one of its kind.
func TestWake(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		changed need
		want    []string
	}{
		"OfOne": {
			reason:  "Who looks at it, or at all of its namespace, is woken.",
			changed: secret("", "a", "x"),
			want:    []string{"all", "one"},
		},
		"OfTwo": {
			reason:  "Each of several that one looks at is a reason.",
			changed: secret("", "a", "y"),
			want:    []string{"all", "one", "other"},
		},
		"InWorkspace": {
			reason:  "A workspace is not the service cluster.",
			changed: secret("tenant", "a", "x"),
			want:    []string{"above"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPublication(t)
			for who, all := range looking {
				for _, l := range all {
					p.worker.needs.add(in("tenant", who), l)
				}
			}
			p.worker.needs.wake(tc.changed)
			if diff := cmp.Diff(tc.want, drain(p.worker.objects.queue)); diff != "" {
				t.Errorf("%s\nwoken: -want, +got:\n%s", tc.reason, diff)
			}
		})
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

// TestUse shows how much the objects of one workspace may use together, and who is tried again when one uses less.
func TestUse(t *testing.T) {
	const most = objectsync.RoomMost
	p := newTestPublication(t)
	one, two, other := in("a", "one"), in("a", "two"), in("b", "other")
	for _, step := range []struct {
		reason string
		object objectsync.Primary
		n      int
		want   bool
	}{
		{reason: "One may use all there is.", object: one, n: most, want: true},
		{reason: "It may not use more.", object: one, n: most + 1, want: false},
		{reason: "It may use as much again.", object: one, n: most, want: true},
		{reason: "Then there is nothing for another.", object: two, n: 1, want: false},
		{reason: "Who uses nothing needs no room.", object: two, n: 0, want: true},
		{reason: "Another workspace has as much.", object: other, n: most, want: true},
	} {
		at := &pass{worker: p.worker, item: step.object, needs: set[need]{}}
		got := at.mayUse(step.n)
		if got != step.want {
			t.Errorf("%s want %t, got %t", step.reason, step.want, got)
		}
		p.worker.needs.set(step.object, at.needs)
		if got { // Of one that is refused it is not known what it uses.
			p.worker.needs.shrink(step.object, at.used)
		}
	}
	at := &pass{worker: p.worker, item: two, needs: set[need]{}}
	at.mayUse(1)
	p.worker.needs.shrink(one, most-1)
	if item, _ := p.worker.objects.queue.Get(); item != two {
		t.Errorf("want the one tried that waits, got %v", item)
	}
	if !at.mayUse(1) {
		t.Error("want room when another uses less")
	}
	for _, item := range []objectsync.Primary{one, two, other} {
		p.worker.needs.shrink(item, 0)
	}
	if d := p.worker.needs; len(d.used)+len(d.of) > 0 {
		t.Errorf("want nothing counted, got %v, %v", d.used, d.of)
	}
}
