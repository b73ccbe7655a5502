// Package restore_test shows that objects of consumers are synced when the etcd of kcp or of the service cluster is
// restored from a backup: what has happened since is undone there.
package restore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	exportName = "shop.example.com"
	// ahead is how many writes come between the backup and the restore, so that those after it do not catch up.
	ahead = 800
)

var (
	local      kube.Server
	workspaces kcp.Server
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &workspaces)) }

// start starts a provider. The function it returns ends it.
func start(t *testing.T) (end func()) {
	t.Helper()
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	wait := provider.StartUntil(t, ctx, local.User(t, "provider", "system:masters"))
	return func() { cancel(); wait() }
}

// publish publishes Hats in a workspace, and returns their group, the PublishedResource and the path of a workspace
// that has bound them.
func publish(t *testing.T, c client.Client) (group string, o *v1alpha1.PublishedResource, consumer string) {
	t.Helper()
	path, admin := workspaces.Workspace(t)
	kube.Create(t, kcp.Client(t, admin), kcp.Export(exportName))
	ns := local.Namespace(t)
	spec := build.FromSecret(ns, "kcp")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName}}
	agent := kcp.ServiceAccount(t, admin, "agent", kcp.AgentRules(exportName)...)
	group = ns + ".example.com"
	o = &v1alpha1.PublishedResource{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	o.Spec.ProviderConfigReference = &v1alpha1.ConfigReference{Name: ns}
	o.Spec.Resource = v1alpha1.SourceResource{APIGroup: group, Kind: "Hat"}
	kube.Create(t, c,
		build.Credentials(ns, "kcp", kube.Kubeconfig(t, agent)),
		build.ClusterConfig(ns, spec), build.Definition(group, "hats"), o)
	kube.Await(t, c, o, "Hats to be published", func() (bool, string) {
		return o.GetCondition(v1alpha1.TypeExportUpdated).Status == corev1.ConditionTrue,
			fmt.Sprint(o.Status.Conditions)
	})
	consumer, in := workspaces.Workspace(t)
	kcp.AwaitBound(t, in, kcp.Bind(t, in, path, exportName))
	return group, o, consumer
}

// hat returns a Hat of a size.
func hat(group, name, size string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size}}}
	u.SetAPIVersion(group + "/v1")
	u.SetKind("Hat")
	u.SetNamespace(metav1.NamespaceDefault)
	u.SetName(name)
	return u
}

// offer creates a Hat as soon as kcp serves the kind. Its administrator has another token after a restore.
func offer(t *testing.T, consumer string, u *unstructured.Unstructured) {
	t.Helper()
	kcp.CreateServed(t, workspaces.Config(consumer), u.DeepCopy())
}

// resize changes the size of a Hat as soon as kcp lets it.
func resize(t *testing.T, consumer string, u *unstructured.Unstructured, size string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":"`+size+`"}}`))
	kube.Eventually(t, "change of "+u.GetName(), func() (bool, string) {
		err := kcp.Client(t, workspaces.Config(consumer)).Patch(t.Context(), u.DeepCopy(), patch)
		return err == nil, fmt.Sprint(err)
	})
}

// awaitCopy waits until the copy of a Hat has a size, and returns it.
func awaitCopy(t *testing.T, c client.Client, u *unstructured.Unstructured, size string) *unstructured.Unstructured {
	t.Helper()
	var is *unstructured.Unstructured
	kube.Eventually(t, "the copy of "+u.GetName()+" to have size "+size, func() (bool, string) {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(u.GetAPIVersion())
		list.SetKind("HatList")
		if err := c.List(t.Context(), list); err != nil {
			return false, err.Error()
		}
		for _, copied := range list.Items {
			if source, ok := objectsync.SourceOf(&copied); ok && source.Name == u.GetName() {
				got, _, _ := unstructured.NestedString(copied.Object, "spec", "size")
				is = &copied
				return got == size, got
			}
		}
		return false, "there is none"
	})
	return is
}

// wantLeft waits until the status reports one orphan, the copy whose object the restore has undone, and no failure. It
// fails unless the copy is that of an object of that name that is made again.
func wantLeft(t *testing.T, c client.Client, o *v1alpha1.PublishedResource, consumer string,
	undone *unstructured.Unstructured, was types.UID,
) {
	t.Helper()
	counts := func(orphaned int64) {
		kube.Await(t, c, o, fmt.Sprint(orphaned, " orphans in the status"), func() (bool, string) {
			return o.Status.Objects != nil && o.Status.Objects.Orphaned == orphaned &&
				o.Status.Objects.Failed == 0, fmt.Sprintf("%+v", o.Status.Objects)
		})
	}
	counts(1)
	again := undone.DeepCopy()
	again.Object["spec"] = map[string]any{"size": "S"}
	offer(t, consumer, again)
	if is := awaitCopy(t, c, undone, "S"); is.GetUID() != was || objectsync.IsOrphaned(is) {
		t.Errorf("want the same copy, without a mark, got %v", is)
	}
	counts(0)
}

// write changes a ConfigMap n times, or until the context ends, with pauses.
func write(ctx context.Context, c client.Client, n int, pause time.Duration) {
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(metav1.NamespaceDefault, "heart")}
	_ = c.Create(ctx, cm.DeepCopy()) // It may be there. One write more or less does not matter.
	for i := 0; i < n && ctx.Err() == nil; i++ {
		patch := []byte(`{"data":{"beat":"` + strconv.Itoa(i) + `"}}`)
		_ = c.Patch(ctx, cm.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
		time.Sleep(pause)
	}
}

// goOn keeps writing until the test ends, as any cluster does.
func goOn(t *testing.T, c client.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var writing sync.WaitGroup
	writing.Go(func() { write(ctx, c, 1<<20, 100*time.Millisecond) })
	t.Cleanup(func() { cancel(); writing.Wait() })
}

// backup backs up kcp. Before, it is written to until etcd has in its file what was there, which takes it 100 ms: only
// that is restored with other resource versions.
func backup(t *testing.T, consumer string) {
	t.Helper()
	write(t.Context(), kcp.Client(t, workspaces.Config(consumer)), ahead/4, 0)
	workspaces.Backup(t)
}

// restores are how a backup of kcp comes back: as it is, so that resource versions are given out again, and as etcd
// recommends it: they are higher than before, and no watch can go on.
var restores = map[string]func(testing.TB){
	"Plain": workspaces.Restore,
	"Bumped": func(tb testing.TB) {
		tb.Helper()
		workspaces.Bump(tb)
		workspaces.Restore(tb)
	},
}

// TestKCPRestored shows that what a restore of kcp has undone is undone in the copies, and that what consumers change
// or create after it is synced. The copy of an object that kcp does not have any more is an orphan: nobody has deleted
// it.
func TestKCPRestored(t *testing.T) {
	for name, restore := range restores {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(start(t))
			c := local.Client(t, apis.AddToScheme)
			group, o, consumer := publish(t, c)
			undone, changed := hat(group, "undone", "L"), hat(group, "changed", "L")
			for _, u := range []*unstructured.Unstructured{undone, changed} {
				offer(t, consumer, u)
				awaitCopy(t, c, u, "L")
			}
			backup(t, consumer)
			write(t.Context(), kcp.Client(t, workspaces.Config(consumer)), ahead, 0)
			for _, u := range []*unstructured.Unstructured{undone, changed} {
				resize(t, consumer, u, "XL")
				awaitCopy(t, c, u, "XL")
			}
			late := hat(group, "late", "L") // The backup does not have it.
			offer(t, consumer, late)
			copied := awaitCopy(t, c, late, "L")

			restore(t)
			goOn(t, kcp.Client(t, workspaces.Config(consumer))) // Its administrator has another token now.
			fresh := hat(group, "fresh", "S")
			offer(t, consumer, fresh)
			resize(t, consumer, changed, "M")
			awaitCopy(t, c, fresh, "S")
			awaitCopy(t, c, changed, "M")
			awaitCopy(t, c, undone, "L")
			wantLeft(t, c, o, consumer, late, copied.GetUID())
		})
	}
}
