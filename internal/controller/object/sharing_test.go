package object_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
