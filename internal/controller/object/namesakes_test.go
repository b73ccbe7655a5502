package object_test

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			w := world{tc: tc, target: target.Namespace(t)}
			tns := w.target
			first, second := namesakes(t, c, scopes, tns)
			kube.Create(t, c, first, second)
			awaitReady(t, c, first, second)
			both := map[string]string{"first": "yes", "second": "yes"}
			cm := w.awaitMap(t, "settings", both)
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
			w.awaitData(t, "settings", "first", "again", "second", "yes")
			setManifest(t, c, second, build.ConfigMap(tns, "settings", "other", "yes"))
			w.awaitData(t, "settings", "first", "again", "other", "yes")

			kube.Remove(t, c, second)
			w.awaitData(t, "settings", "first", "again")
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
			awaitReady(t, c, first, second, reader)
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
			world{tc: tc, target: tns}.awaitMap(t, "settings", both)
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
			cm := world{tc: tc, target: tns}.awaitData(t, "settings", "first", "yes")
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
	c := provide(t)
	first := newWorldAs(t, c, build.Namespaced(), "system:masters")
	cfg := target.User(t, first.user, "system:masters")
	second := newWorldOf(t, c, build.Namespaced(),
		kube.Front(t, cfg, func(server http.Handler) http.Handler { return server }))
	second.target = first.target
	// What both have seen before is no reason to wait: their watches have begun.
	createReady(t, c, first.keeper("warm-first"), second.keeper("warm-second"))
	var all []build.Object
	for i := range pairs {
		for key, w := range map[string]world{"first": first, "second": second} {
			o := w.keeper(strconv.Itoa(i))
			o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, strconv.Itoa(i), key, "yes"))
			all = append(all, o)
		}
	}
	kube.Create(t, c, plain(all)...)
	for i := range pairs {
		first.awaitData(t, strconv.Itoa(i), "first", "yes", "second", "yes")
	}
	for _, o := range all { // No write is due to an Object that shows what both have applied.
		awaitReady(t, c, o)
		awaitObserved(t, c, o, map[string]string{"first": "yes", "second": "yes"})
	}
	staysUnwritten(t, c, all...)
	first.asksNothing(t, all...)
	for i := 0; i < len(all); i += 2 {
		if a, b := all[i].Observed().Applied.FieldManager, all[i+1].Observed().Applied.FieldManager; a == b {
			t.Errorf("%s: want two field managers, both have %q", all[i].GetName(), a)
		}
	}
}
