package object_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// pairs are scopes of two Objects that can have the same name.
func pairs() map[string][2]build.Scope {
	return map[string][2]build.Scope{
		"TwoNamespaces":        {build.Namespaced(), build.Namespaced()},
		"ClusterAndNamespaced": {build.Cluster(), build.Namespaced()},
		"NamespacedAndCluster": {build.Namespaced(), build.Cluster()},
	}
}

// short returns a name for Objects of a test from that of a namespace.
func short(namespace string) string { return "app-" + namespace[len(namespace)-5:] }

// namesakes returns two Objects of one name, each with a field of its own on one ConfigMap, and with credentials of its
// own.
func namesakes(t *testing.T, c client.Client, scopes [2]build.Scope, tns string) (first, second build.Object) {
	t.Helper()
	var both [2]build.Object
	for i, key := range []string{"first", "second"} {
		ns, pc := connect(t, c, scopes[i], targetUser(t))
		both[i] = scopes[i].Object(ns, short(tns), pc, build.ConfigMap(tns, "settings", key, "yes"))
	}
	return both[0], both[1]
}

// TestNamesakesShareAResource shows that Objects of one name, in two namespaces or two scopes, keep each its fields of
// one resource. In provider-kubernetes they have one field manager, and take each other's fields off.
func TestNamesakesShareAResource(t *testing.T) {
	t.Parallel()
	c, tc := provide(t), target.Client(t)
	for name, scopes := range pairs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tns := target.Namespace(t)
			key := types.NamespacedName{Namespace: tns, Name: "settings"}
			first, second := namesakes(t, c, scopes, tns)
			kube.Create(t, c, first, second)
			awaitReady(t, c, first)
			awaitReady(t, c, second)
			both := map[string]string{"first": "yes", "second": "yes"}
			cm := awaitData(t, tc, key, both)
			awaitObserved(t, c, first, both)
			awaitObserved(t, c, second, both)
			plain := commonv1.FieldManagerPrefix + short(tns)
			apart := []string{plain + "@" + first.GetNamespace(), plain + "@" + second.GetNamespace()}
			managers := slices.Sorted(maps.Keys(dataManagers(t, cm)))
			if len(managers) != 2 || managers[0] != plain || !slices.Contains(apart, managers[1]) {
				t.Errorf("owners of data: want %s and one of %v, got %v", plain, apart, managers)
			}
			staysUnwritten(t, c, first, second)

			setManifest(t, c, first, build.ConfigMap(tns, "settings", "first", "again"))
			awaitData(t, tc, key, map[string]string{"first": "again", "second": "yes"})
			setManifest(t, c, second, build.ConfigMap(tns, "settings", "other", "yes"))
			awaitData(t, tc, key, map[string]string{"first": "again", "other": "yes"})

			kube.Remove(t, c, second)
			awaitData(t, tc, key, map[string]string{"first": "again"})
			kube.Remove(t, c, first)
			kube.AwaitGone(t, tc, cm)
		})
	}
}

// TestStrangersKeepTheName shows that Objects of one name with resources of their own, or with one they only look at,
// are not told apart.
func TestStrangersKeepTheName(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	for name, scopes := range pairs() {
		t.Run(name, func(t *testing.T) {
			tns := target.Namespace(t)
			first, second := namesakes(t, c, scopes, tns)
			second.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(tns, "others", "second", "yes"))
			ns, pc := connect(t, c, build.Namespaced(), targetUser(t))
			reader := build.Namespaced().Object(ns, short(tns), pc, build.ConfigMap(tns, "settings"))
			reader.SetManagementPolicies(observeOnly)
			kube.Create(t, c, reader, second, first)
			for _, o := range []build.Object{first, second, reader} {
				awaitReady(t, c, o)
			}
			for _, name := range []string{"settings", "others"} {
				cm := &corev1.ConfigMap{}
				kube.Get(t, tc, types.NamespacedName{Namespace: tns, Name: name}, cm)
				got := slices.Collect(maps.Keys(dataManagers(t, cm)))
				if diff := cmp.Diff([]string{commonv1.FieldManagerPrefix + short(tns)}, got); diff != "" {
					t.Errorf("owners of the data of %s: -want, +got:\n%s", name, diff)
				}
			}

			// One that comes to the resource of the other later is told apart, and takes nothing from it.
			setManifest(t, c, second, build.ConfigMap(tns, "settings", "second", "yes"))
			both := map[string]string{"first": "yes", "second": "yes"}
			awaitData(t, tc, types.NamespacedName{Namespace: tns, Name: "settings"}, both)
			awaitObserved(t, c, first, both)
			awaitObserved(t, c, second, both)
			if got := first.Observed().Applied.FieldManager; got != "" {
				t.Errorf("recorded field manager of who was first: want none, got %s", got)
			}
			if got := second.Observed().Applied.FieldManager; !strings.Contains(got, "@") {
				t.Errorf("recorded field manager of who came later: want one of its own, got %q", got)
			}
		})
	}
}

// TestNamesakeThatNeverApplied shows that an Object which was deleted before it could apply anything leaves the
// resource that another of its name has made.
func TestNamesakeThatNeverApplied(t *testing.T) {
	t.Parallel()
	c, tc := provide(t), target.Client(t)
	for name, scopes := range pairs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tns := target.Namespace(t)
			first, second := namesakes(t, c, scopes, tns)
			createReady(t, c, first)
			cm := awaitData(t, tc, types.NamespacedName{Namespace: tns, Name: "settings"},
				map[string]string{"first": "yes"})
			second.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
			second.SetFinalizers([]string{"finalizer.managedresource.crossplane.io"})
			kube.Create(t, c, second)
			kube.Delete(t, c, second)
			unpause(t, c, second)
			kube.AwaitGone(t, c, second)
			holds(t, c, "the resource is left alone", func() (bool, string) {
				got := &corev1.ConfigMap{}
				if err := tc.Get(t.Context(), client.ObjectKeyFromObject(cm), got); err != nil {
					return false, err.Error()
				}
				return got.GetUID() == cm.GetUID(), "it was made again"
			}, first)
		})
	}
}

// TestNamesakesOnOneClusterByTwoURLs shows that Objects of one name which reach one cluster by two URLs, and are made
// at the same time, do not take each other's fields away: both have their fields in the end, and nobody writes any
// more.
func TestNamesakesOnOneClusterByTwoURLs(t *testing.T) {
	const pairs = 10
	c, tc := provide(t), target.Client(t)
	s := build.Namespaced()
	tns := target.Namespace(t)
	who := tns + "-namesake"
	cfg := target.User(t, who, "system:masters")
	front := kube.Front(t, cfg, func(server http.Handler) http.Handler { return server })
	firstNS, firstPC := connect(t, c, s, cfg)
	secondNS, secondPC := connect(t, c, s, front)

	var all []build.Object
	for i := range pairs {
		name := fmt.Sprintf("settings-%d", i)
		all = append(all,
			s.Object(firstNS, tns+name, firstPC, build.ConfigMap(tns, name, "first", "1")),
			s.Object(secondNS, tns+name, secondPC, build.ConfigMap(tns, name, "second", "2")))
	}
	// What both have seen before is no reason to wait: their watches have begun.
	for _, o := range []build.Object{
		s.Object(firstNS, tns+"warm-first", firstPC, build.ConfigMap(tns, "warm-first")),
		s.Object(secondNS, tns+"warm-second", secondPC, build.ConfigMap(tns, "warm-second")),
	} {
		createReady(t, c, o)
	}
	kube.Create(t, c, asClientObjects(all)...)
	for i := range pairs {
		key := types.NamespacedName{Namespace: tns, Name: fmt.Sprintf("settings-%d", i)}
		kube.Eventually(t, "both fields of "+key.Name, func() (bool, string) {
			cm := &corev1.ConfigMap{}
			err := tc.Get(t.Context(), key, cm)
			diff := cmp.Diff(map[string]string{"first": "1", "second": "2"}, cm.Data)
			return err == nil && diff == "", fmt.Sprint(err, diff)
		})
	}
	for _, o := range all { // No write is due to an Object that shows what both have applied.
		awaitReady(t, c, o)
		awaitObserved(t, c, o, map[string]string{"first": "1", "second": "2"})
	}
	audit := target.Audit(t)
	mark := audit.Mark()
	staysUnwritten(t, c, all...)
	if diff := cmp.Diff(map[string]int{}, audit.Since(mark).By(who).Count(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("requests at rest: -want, +got:\n%s", diff)
	}
	for i := 0; i < len(all); i += 2 {
		if a, b := all[i].Observed().Applied.FieldManager, all[i+1].Observed().Applied.FieldManager; a == b {
			t.Errorf("%s: want two field managers, both have %q", all[i].GetName(), a)
		}
	}
}

func asClientObjects(objs []build.Object) []client.Object {
	out := make([]client.Object, 0, len(objs))
	for _, o := range objs {
		out = append(out, o)
	}
	return out
}
