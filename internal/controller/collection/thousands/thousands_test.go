package thousands_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// promptly is how long a member may take to follow its resource at rest.
const promptly = time.Second

// TestLargeCollection shows that a collection of 2,000 members is made by one apply for each, costs no request at rest, follows a change
// within a second, and is found as it is by a provider that starts.
// Last items of 2b of provider-kubernetes: one collection at a time, whose members were applied one by one at each poll.
func TestLargeCollection(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	for _, s := range build.CollectionScopes() {
		t.Run(s.Name, func(t *testing.T) {
			tns := target.Namespace(t)
			pc := connect(t, c, s, kube.Kubeconfig(t, target.User(t, user, admins)))
			populate(t, tns, "a", many)
			r := watchRequests(t)
			began := time.Now()
			create(t, c, s.Collection(pc, tns, pc, build.ConfigMaps(tns, "team", "a")))
			awaitCount(t, c, s, tns, many)
			made := time.Since(began)
			kube.Eventually(t, eventually, "all members to be ready", func() (bool, string) {
				members, ready := count(t, c, s, tns)
				return members == many && ready == many, fmt.Sprintf("%d of %d", ready, members)
			})
			t.Logf("%d members: made in %s, ready in %s", many, made, time.Since(began))
			if applies := applies(r.by(user)); applies != many {
				t.Errorf("each member is applied once: want %d applies, got %d", many, applies)
			}

			r.settle(t)
			kube.Throughout(t, polls, "no request at rest", func() (bool, string) {
				diff := cmp.Diff(map[string]int{}, r.by(user).Count(), cmpopts.EquateEmpty())
				return diff == "", "-want, +got:\n" + diff
			})

			var took []time.Duration
			for i := 0; i < 5 && (len(took) == 0 || slices.Min(took) > promptly); i++ {
				late := configMap(tns, fmt.Sprintf("late-%d", i), "a")
				create(t, tc, late)
				came := awaitCount(t, c, s, tns, many+1)
				if err := tc.Delete(t.Context(), late); err != nil {
					t.Fatal(err)
				}
				took = append(took, max(came, awaitCount(t, c, s, tns, many)))
			}
			if slices.Min(took) > promptly {
				t.Errorf("a member follows its resource within %s, took %s", promptly, took)
			}
			t.Logf("a member followed its resource in %s", took)
		})
	}
	restart(t)
}

// applies counts the applies of members.
func applies(rs kube.Requests) int {
	n := 0
	for _, e := range rs {
		if e.Verb == "patch" && e.Subject() == "objects.kubernetes.crossplane.io" || e.Verb == "patch" && e.Subject() == "objects.kubernetes.m.crossplane.io" {
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
	kube.Throughout(t, polls, "a provider that starts writes nothing", func() (bool, string) {
		var writes kube.Requests
		for _, e := range r.by(second) {
			if !slices.Contains([]string{"get", "list"}, e.Verb) {
				writes = append(writes, e)
			}
		}
		return len(writes) == 0, writes.String()
	})
	lists := r.by(second).Count()
	if !slices.ContainsFunc(keys(r.local.Watches(r.marks[0]).By(second).Count()), func(k string) bool { return strings.Contains(k, "observedobjectcollections") }) {
		t.Errorf("the second provider must have started, got %v", lists)
	}
}

func keys(m map[string]int) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// TestEqualSelectionsShareOneStream shows that ten collections that select alike cost one watch on the target.
func TestEqualSelectionsShareOneStream(t *testing.T) {
	c := provide(t)
	for _, s := range build.CollectionScopes() {
		t.Run(s.Name, func(t *testing.T) {
			tns := target.Namespace(t)
			who := tns + "-sharer"
			pc := connect(t, c, s, kube.Kubeconfig(t, target.User(t, who, admins)))
			audit := target.Audit(t)
			mark := audit.Mark()
			for i := range 10 {
				oc := s.Collection(pc, fmt.Sprintf("%s-%d", tns, i), pc, build.ConfigMaps(tns, "team", "a"))
				create(t, c, oc)
				awaitSettled(t, c, oc)
			}
			if diff := cmp.Diff(map[string]int{"watch configmaps": 1}, audit.Watches(mark).By(who).Count()); diff != "" {
				t.Errorf("watches: -want, +got:\n%s", diff)
			}
		})
	}
}

func awaitSettled(t *testing.T, c client.Client, oc build.Collection) {
	t.Helper()
	kube.Eventually(t, soon, oc.GetName()+" to be synced", func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(oc), oc); err != nil {
			return false, err.Error()
		}
		cond := oc.GetCondition("Synced")
		return cond.Status == "True", cond.Message
	})
}
