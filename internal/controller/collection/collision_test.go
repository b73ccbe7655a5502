package collection_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// colliding returns the names of two ConfigMaps of a namespace whose hashes begin with the same 7 digits, in their
// order.
func colliding(t *testing.T, namespace string) (before, after string) {
	t.Helper()
	seen := map[string]string{}
	for i := range 1 << 20 {
		name := fmt.Sprintf("cm-%07d", i)
		short := memberName("", namespace, name)
		if other, ok := seen[short]; ok {
			return other, name
		}
		seen[short] = name
	}
	t.Fatal("no two of a million names have hashes that begin alike")
	return "", ""
}

// A defect of provider-kubernetes: two resources whose hashes begin alike took turns on one member.
func TestCollidingNames(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, w world) {
		before, after := colliding(t, w.tns)
		short := memberName(w.tns, w.tns, before)
		if diff := cmp.Diff(short, memberName(w.tns, w.tns, after)); diff != "" {
			t.Fatalf("names must collide: %s", diff)
		}
		longBefore := w.tns + "-" + hash("/v1, Kind=ConfigMap/" + w.tns + "/" + before)[:14]
		longAfter := w.tns + "-" + hash("/v1, Kind=ConfigMap/" + w.tns + "/" + after)[:14]

		kube.Create(t, w.tc, configMap(w.tns, after, "a"))
		oc := w.collect()
		kube.Create(t, w.c, oc)
		first := w.awaitNamed(t, map[string]string{short: w.tns + "/" + after})

		// The one that sorts before comes later, and gets the longer name.
		kube.Create(t, w.tc, configMap(w.tns, before, "a"))
		both := map[string]string{short: w.tns + "/" + after, longBefore: w.tns + "/" + before}
		members := w.awaitNamed(t, both)
		if members[short].GetUID() != first[short].GetUID() {
			t.Error("the first member must stay the same Object")
		}
		w.staysNamed(t, both)
		for _, m := range members {
			awaitCondition(t, w.c, m, ready)
		}

		// The other keeps its name when the first goes, and the first gets what is free when it comes back.
		kube.Delete(t, w.tc, configMap(w.tns, after, ""))
		w.awaitNamed(t, map[string]string{longBefore: w.tns + "/" + before})
		kube.Create(t, w.tc, configMap(w.tns, after, "a"))
		w.awaitNamed(t, map[string]string{longBefore: w.tns + "/" + before, short: w.tns + "/" + after})

		// Both at once: the one that sorts before has the better name.
		change(t, w.c, oc, pointAt("none"))
		w.awaitNamed(t, nil)
		change(t, w.c, oc, pointAt("a"))
		w.awaitNamed(t, map[string]string{short: w.tns + "/" + before, longAfter: w.tns + "/" + after})
	})
}

// staysNamed checks that members stand for what they do, and are the same Objects, for a while.
func (w world) staysNamed(t *testing.T, want map[string]string) {
	t.Helper()
	uids := func(members map[string]build.Object) map[string]types.UID {
		out := map[string]types.UID{}
		for name, m := range members {
			out[name] = m.GetUID()
		}
		return out
	}
	before := uids(w.members(t, w.tns))
	kube.Holds(t, "members stay what they are", func() (bool, string) {
		members := w.members(t, w.tns)
		diff := cmp.Diff(want, observes(t, members)) + cmp.Diff(before, uids(members))
		return diff == "", diff
	}, func() { w.passQueue(t) })
}
