package object_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
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

// sharer returns an Object for the ConfigMap shared, which may be that of others too, with a key of its own in it.
func (w world) sharer(name string, policies xpv2.ManagementPolicies) build.Object {
	o := w.scope.Object(w.namespace, w.target+"-"+name, w.config,
		build.ConfigMap(w.target, "shared", "color", "blue", name, "yes"))
	o.Desired().SharedResource = xpv2.DeletionOrphan
	if policies != nil {
		o.SetManagementPolicies(policies)
	}
	return o
}

// TestSharedResource shows with whom a resource goes that two Objects have.
func TestSharedResource(t *testing.T) {
	for name, tc := range map[string]struct {
		other xpv2.ManagementPolicies
		moves bool // the first one only names another resource
		alone bool // it does not wish to share
		kept  bool
	}{
		"Kept":        {kept: true}, // The other deletes it in turn.
		"Moved":       {moves: true, kept: true},
		"OnlyDeletes": {other: observeDelete, kept: true},  // It has not made it.
		"OnlyLooks":   {other: observeOnly},                // It would not delete it.
		"Alone":       {other: observeDelete, alone: true}, // Policies do not let the other make it again.
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				first, other := w.sharer("first", nil), w.sharer("other", tc.other)
				if tc.alone {
					first.Desired().SharedResource = ""
				}
				createReady(t, w.c, first, other)
				was, is := w.kept("shared"), w.kept("shared")
				w.exists(t, was, true)
				if tc.moves {
					setManifest(t, w.c, first, build.ConfigMap(w.target, "own"))
					w.awaitData(t, "own")
				} else {
					kube.Remove(t, w.c, first)
				}
				w.exists(t, is, tc.kept)
				if tc.kept {
					want := map[string]string{"color": "blue", "other": "yes"}
					if tc.other != nil {
						want = nil // Nobody else has applied a field.
					}
					w.awaitMap(t, "shared", want)
					if is.GetUID() != was.GetUID() {
						t.Error("it is another one than before")
					}
				}
				kube.Remove(t, w.c, other)
				w.exists(t, w.kept("shared"), false)
			})
		})
	}
}

// awaitObserved waits until the status of an Object shows a ConfigMap with some data.
func awaitObserved(t *testing.T, c client.Client, o build.Object, want map[string]string) {
	t.Helper()
	kube.Await(t, c, o, "the status of "+o.GetName()+" to show the data", func() (bool, string) {
		got := observed(t, o).Data
		return cmp.Equal(want, got), cmp.Diff(want, got)
	})
}

// TestOneStreamForAllNamespaces shows that Objects of several namespaces and of both scopes which use one connection
// share one stream of their kind, and that it ends with the last of them, whether they say watch: true or not. A defect
// of provider-kubernetes: it has a stream for each namespace and one for the cluster scope, and Objects that do not
// watch keep them open.
func TestOneStreamForAllNamespaces(t *testing.T) {
	c := provide(t)
	tns, connection := target.Namespace(t), local.Namespace(t)
	spec := build.FromSecret(connection, "credentials")
	kubeconfig := kube.Kubeconfig(t, target.User(t, tns, "system:masters"))
	kube.Create(t, c, build.Credentials(connection, "credentials", kubeconfig),
		build.ClusterConfig(connection, spec), build.Cluster().Config("", connection, spec))
	var all []build.Object
	for i := range 3 {
		o := build.Namespaced().Object(local.Namespace(t), tns, "", build.ConfigMap(tns, "settings-"+strconv.Itoa(i)))
		o.(*mobjectv1alpha1.Object).Spec.Watch = i > 0
		all = append(all, build.Through(o, connection))
	}
	all = append(all, build.Cluster().Object("", tns, connection, build.ConfigMap(tns, "settings")))
	createReady(t, c, all...)
	audit := target.Audit(t)
	if watches := audit.Watches(kube.Mark{}).By(tns); len(watches) != 1 {
		t.Errorf("streams of %d Objects: want one, got:\n%s", len(all), watches)
	}
	kube.Remove(t, c, plain(all)...)
	mark := audit.Mark()
	another := build.Cluster().Object("", tns+"-another", connection, build.ConfigMap(tns, "settings"))
	createReady(t, c, another)
	if watches := audit.Watches(mark).By(tns); len(watches) != 1 {
		t.Errorf("streams begun when all Objects had gone and one has come: want one, as the first has ended, got:\n%s",
			watches)
	}
}
