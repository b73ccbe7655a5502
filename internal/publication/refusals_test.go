package publication

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestRetryRefused shows whom the cure of a refusal wakes: the others that the same server has refused.
func TestRetryRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPublication(t)
		settle := p.worker.objects.settle
		above := &objectsync.RefusalError{Workspace: true}
		for _, item := range []objectsync.Primary{in("a", "1"), in("a", "2"), in("b", "3")} {
			settle(item, above)
		}
		for _, item := range []objectsync.Primary{in("a", "below"), in("b", "other")} {
			settle(item, &objectsync.RefusalError{})
		}
		for _, item := range []objectsync.Primary{in("a", "rights"), in("b", "others")} {
			settle(item, &objectsync.RefusalError{Cause: objectsync.RefusedByRights})
		}
		settle(in("a", "failed"), errors.New("boom"))
		settle(in("a", "1"), errors.New("unreachable")) // It is not known whether it would be refused.
		settle(in("a", "never"), nil)
		if got := drain(p.worker.objects.queue); got != nil {
			t.Errorf("want nobody woken, got %v", got)
		}
		settle(in("a", "1"), nil)
		if diff := cmp.Diff([]string{"2"}, drain(p.worker.objects.queue)); diff != "" {
			t.Errorf("woken by a cure in the workspace: -want, +got:\n%s", diff)
		}
		settle(in("a", "below"), nil)
		if got := drain(p.worker.objects.queue); got != nil {
			t.Errorf("want nobody else of the workspace that the service cluster has refused, got %v", got)
		}
		settle(in("a", "rights"), nil)
		if diff := cmp.Diff([]string{"others"}, drain(p.worker.objects.queue)); diff != "" {
			t.Errorf("woken by rights: -want, +got:\n%s", diff)
		}
		settle(in("a", "rights"), &objectsync.RefusalError{Cause: objectsync.RefusedByRights})
		settle(in("a", "rights"), nil)
		if got := drain(p.worker.objects.queue); got != nil {
			t.Errorf("want nobody woken again a moment later, got %v", got)
		}
	})
}

// TestProbe shows which objects are tried that lack rights: one of each resource, as long as there are any.
func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPublication(t)
		settle := p.worker.objects.settle
		lacks := func(item objectsync.Primary, resource string) {
			settle(item, &objectsync.RefusalError{
				Cause: objectsync.RefusedByRights, Resource: schema.GroupResource{Resource: resource},
			})
		}
		probe := func() []string {
			p.worker.objects.probe()
			return drain(p.worker.objects.queue)
		}
		settle(in("a", "policy"), &objectsync.RefusalError{})
		settle(in("a", "claim"), &objectsync.RefusalError{Workspace: true, Cause: objectsync.RefusedByRights})
		if got := probe(); got != nil {
			t.Errorf("want nobody tried whose cure is told of, got %v", got)
		}
		for i := range 100 {
			lacks(in("a", fmt.Sprint("thing", i)), "things")
		}
		lacks(in("a", "secret"), "secrets")
		if got := probe(); len(got) != 2 || !slices.Contains(got, "secret") {
			t.Errorf("want one of each resource, got %v", got)
		}
		settle(in("a", "secret"), nil)
		drain(p.worker.objects.queue)
		if got := probe(); len(got) != 1 || slices.Contains(got, "secret") {
			t.Errorf("want things alone, got %v", got)
		}
	})
}
