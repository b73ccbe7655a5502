package scale_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// TestLargeCollection shows that a collection of 2,000 members is made by one apply for each, costs no request at rest,
// and is found as it is by a provider that starts. provider-kubernetes takes one collection at a time, and applies its
// members one by one at each poll.
func TestLargeCollection(t *testing.T) {
	c := provide(t)
	for _, s := range build.CollectionScopes() {
		t.Run(s.Name, func(t *testing.T) {
			tns := target.Namespace(t)
			pc := connect(t, c, s, kube.Kubeconfig(t, target.User(t, user, admins)))
			populate(t, tns, "a", many)
			r := watchRequests(t)
			oc := s.Collection(pc, tns, pc, build.ConfigMaps(tns, "team", "a"))
			kube.Create(t, c, oc)
			awaitSettled(t, c, oc)
			awaitReady(t, c, s, tns)
			awaitUses(t, c, s, pc)
			made := patches(r.settle(t))
			// One is the apply, the other gives the Object its finalizer.
			if made != 2*many {
				t.Errorf("each member is applied once: want %d patches, got %d", 2*many, made)
			}

			kube.Throughout(t, polls, "no request at rest", func() (bool, string) {
				diff := cmp.Diff(map[string]int{}, r.by(user).Count(), cmpopts.EquateEmpty())
				return diff == "", "-want, +got:\n" + diff
			})
		})
	}
	restart(t)
}

// patches counts the patches of Objects.
func patches(rs kube.Requests) int {
	n := 0
	for _, e := range rs {
		if what := e.Subject(); e.Verb == "patch" &&
			(what == "objects.kubernetes.crossplane.io" || what == "objects.kubernetes.m.crossplane.io") {
			n++
		}
	}
	return n
}

// restart starts another provider, which shows what one does that finds everything as it should be.
func restart(t *testing.T) {
	t.Helper()
	const second = "second"
	r := watchRequests(t)
	r.settle(t)
	provider.Start(t, local.User(t, second, admins))
	kube.EventuallyBy(t, eventually, "the provider to start", func() (bool, string) {
		got := r.local.Watches(r.marks[0]).By(second).Count()
		return got["watch observedobjectcollections.kubernetes.crossplane.io"] > 0 &&
			got["watch observedobjectcollections.kubernetes.m.crossplane.io"] > 0, fmt.Sprint(got)
	})
	kube.Throughout(t, polls, "a provider that starts writes nothing", func() (bool, string) {
		var writes kube.Requests
		for _, e := range r.by(second) {
			if !slices.Contains([]string{"get", "list"}, e.Verb) {
				writes = append(writes, e)
			}
		}
		return len(writes) == 0, writes.String()
	})
}

func awaitSettled(t *testing.T, c client.Client, oc build.Collection) {
	t.Helper()
	kube.EventuallyBy(t, eventually, oc.GetName()+" to be synced", func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(oc), oc); err != nil {
			return false, err.Error()
		}
		cond := oc.GetCondition("Synced")
		return cond.Status == "True", cond.Message
	})
}
