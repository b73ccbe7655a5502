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

// TestTenantNamespaces shows how many namespaces are looked at for one workspace, and that another one has as many.
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
	p.worker.needs.set(one, set[need]{
		{NamespacedName: types.NamespacedName{Namespace: "ns0"}, cluster: "a", use: useNamespace}: {},
	})
	if !claim(two, "more") {
		t.Error("want room after others have been given up")
	}
	for _, item := range []objectsync.Primary{one, two, other} {
		p.worker.needs.set(item, nil)
	}
	if all := p.worker.needs.namespaces; len(all) > 0 {
		t.Errorf("want nothing kept, got %v", all)
	}
}
