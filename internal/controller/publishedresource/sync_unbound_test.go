package publishedresource_test

import (
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncUnbound shows that a workspace that no longer binds the API, or is deleted, leaves its copies behind, which
// is reported, that it finds them again when it binds the API once more, and that what it deletes by itself is deleted.
// So it is of the last workspace, with which the endpoint goes.
func TestSyncUnbound(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.EnableWorkspacePaths = true })
	leaves, goes, stays := s.tenant(t), s.tenant(t), s.tenant(t)
	web := s.naming("web", "key")
	kube.Create(t, leaves, secretIn(metav1.NamespaceDefault, "key", "a"), web)
	kube.Create(t, goes, s.cert("web"))
	kube.Create(t, stays, s.cert("web"))
	copied, last, other := s.copyOf(t, leaves), s.copyOf(t, goes), s.copyOf(t, stays)
	awaitValue(t, s.c, copied.GetNamespace(), "key", "a")
	// As a copy is that was taken over from api-syncagent, and has not changed since.
	kube.Patch(t, s.c, copied, `{"metadata":{"annotations":{"syncagent.kcp.io/remote-object-kind":null}}}`)

	keepBound(t, goes)
	gone := workspaces.DeleteWorkspace(t, goes.path)
	unbind(t, leaves)
	s.wantLeft(t, leaves, copied)
	awaitValue(t, s.c, copied.GetNamespace(), "key", "a")
	kube.Eventually(t, "the workspace to be gone", gone)
	s.wantLeft(t, goes, last)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return c.Synced == 1 && c.Failed == 0 && cmp.Equal(c.Orphans, oneEach(leaves, goes))
	})
	kube.AwaitEvent(t, s.c, "OrphanedCopies", o.GetName(), leaves.path)
	key := secretIn(metav1.NamespaceDefault, "key", "")
	if err := leaves.Get(t.Context(), client.ObjectKeyFromObject(key), key); err != nil || len(key.Finalizers) > 0 {
		t.Errorf("the consumer's Secret is held: %v %v", key.Finalizers, err)
	}

	s.findAgain(t, o, leaves, stays, copied)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return c.Synced == 2 &&
			cmp.Equal(c.Orphans, oneEach(goes))
	})
	kube.Delete(t, leaves, s.cert("web"))
	kube.AwaitGone(t, s.c, copied)

	// The endpoint goes with the last workspace, and what that has left behind is still told of.
	urls := s.endpoints(t)
	unbind(t, leaves)
	unbind(t, stays)
	s.awaitEndpoints(t, o)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return c.Synced == 0 && cmp.Equal(c.Orphans, oneEach(goes, stays))
	})
	kcp.AwaitBound(t, stays.cfg, kcp.Bind(t, stays.cfg, s.path, exportName, claims()...))
	kcp.CreateServed(t, stays.cfg, s.cert("web"))
	s.awaitEndpoints(t, o, urls...)
	awaitCounts(t, s.c, o, 1, 0)
	if now := s.copyOf(t, stays); now.GetUID() != other.GetUID() || objectsync.IsOrphaned(now) {
		t.Errorf("want the copy taken again, got %v", now.Object["metadata"])
	}
}

// keepBound has a workspace refuse to delete its APIBinding until kcp deletes that policy: so, for a workspace that is
// being deleted, objects go first.
func keepBound(t *testing.T, in tenant) {
	t.Helper()
	refuse(t, in, "bound.example.com", admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: matching("apis.kcp.io", "apibindings", admissionv1.Delete),
		Validations:      []admissionv1.Validation{{Expression: "false", Message: refusal}},
	})
	b := &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}}
	kube.Eventually(t, "refusal", func() (bool, string) { return isRefused(in.Delete(t.Context(), b, client.DryRunAll)) })
}

// oneEach returns what is told of workspaces that have left one copy each.
func oneEach(all ...tenant) []v1alpha1.WorkspaceOrphans {
	var out []v1alpha1.WorkspaceOrphans
	for _, in := range all {
		out = append(out, v1alpha1.WorkspaceOrphans{Workspace: in.path, Copies: 1})
	}
	slices.SortFunc(out, func(a, b v1alpha1.WorkspaceOrphans) int { return strings.Compare(a.Workspace, b.Workspace) })
	return out
}

// wantLeft fails unless the copy of a workspace that has left stays, and is marked.
func (s *shop) wantLeft(t *testing.T, in tenant, copied *unstructured.Unstructured) {
	t.Helper()
	left := s.copyOf(t, in)
	if left.GetUID() != copied.GetUID() || left.GetDeletionTimestamp() != nil || !objectsync.IsOrphaned(left) {
		t.Errorf("want the copy left and marked, got %v", left)
	}
}

// findAgain has a workspace bind the API again: its copy stays although it changes before its object is there, and is
// taken then.
func (s *shop) findAgain(t *testing.T, o *v1alpha1.PublishedResource, in, other tenant,
	copied *unstructured.Unstructured,
) {
	t.Helper()
	kcp.AwaitBound(t, in.cfg, kcp.Bind(t, in.cfg, s.path, exportName, claims()...))
	kube.Await(t, s.c, o, "two consumers", func() (bool, string) {
		return o.Status.Workspaces.Bound == 2, describe(o)
	})
	kube.Patch(t, s.c, copied, `{"metadata":{"annotations":{"example.com/changed":"yes"}}}`)
	kube.Holds(t, "the copy stays", func() (bool, string) {
		all := s.copies(t, in)
		return len(all) == 1 && all[0].GetDeletionTimestamp() == nil, describeAll(all)
	}, func() { s.turn(t, other) })
	kcp.CreateServed(t, in.cfg, s.cert("web"))
	kube.Eventually(t, "the copy to be taken again", func() (bool, string) {
		now := s.copyOf(t, in)
		return now.GetUID() == copied.GetUID() && !objectsync.IsOrphaned(now), describe(o)
	})
}

// TestSyncUnboundDelete shows that copies, states and the namespaces that were made for them go with their workspaces,
// if that is asked for, and that a namespace with anything else in it stays until that is gone: what belongs to a copy
// goes after it.
func TestSyncUnboundDelete(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.UnboundWorkspaces = xpv2.DeletionDelete
		o.Spec.CreatedNamespaces = &v1alpha1.CreatedNamespaces{
			WhenEmpty: xpv2.DeletionDelete, Labels: map[string]string{"tenant": "{{ .ClusterName }}"},
		}
	})
	first, second, goes, stays := s.tenant(t), s.tenant(t), s.tenant(t), s.tenant(t)
	for _, in := range []tenant{first, second, goes, stays} {
		web := s.cert("web")
		if in.cluster == second.cluster {
			web.Object["spec"].(map[string]any)["keyName"] = "no name" // It cannot be synced, ever.
		}
		kube.Create(t, in, web)
		s.copyOf(t, in)
	}
	awaitCounts(t, s.c, o, 3, 1)
	child := secretIn(second.cluster, "anything", "a")
	kube.Create(t, s.c, child)
	gone := workspaces.DeleteWorkspace(t, goes.path)
	unbind(t, first)
	unbind(t, second)
	kube.Eventually(t, "the workspace to be gone", gone)
	for _, in := range []tenant{first, second, goes} {
		if all := s.copies(t, in); len(all) != 0 {
			t.Errorf("copies of a workspace that has left: %s", describeAll(all))
		}
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return c.Synced == 1 && c.Failed == 0 &&
			c.Orphaned == 0
	})
	s.awaitVacated(t, first)
	s.awaitVacated(t, goes)
	ns := &corev1.Namespace{}
	for _, in := range []tenant{second, stays} {
		err := s.c.Get(t.Context(), types.NamespacedName{Name: in.cluster}, ns)
		if err != nil || ns.DeletionTimestamp != nil || ns.Labels["tenant"] != in.cluster {
			t.Errorf("want the namespace kept that is not empty, got %v %v", err, ns.ObjectMeta)
		}
	}
	kube.Delete(t, s.c, child)
	s.awaitVacated(t, second)
	states := &corev1.SecretList{}
	if err := s.c.List(t.Context(), states, client.InNamespace(o.Spec.StateNamespace)); err != nil ||
		len(states.Items) != 1 {
		t.Errorf("want the state of the one object, got %d, %v", len(states.Items), err)
	}
}

// awaitVacated waits until the namespace of a workspace's copies is being deleted.
func (s *shop) awaitVacated(t *testing.T, in tenant) {
	t.Helper()
	kube.Eventually(t, "the empty namespace "+in.cluster+" to be deleted", func() (bool, string) {
		ns := &corev1.Namespace{}
		err := s.c.Get(t.Context(), types.NamespacedName{Name: in.cluster}, ns)
		return client.IgnoreNotFound(err) == nil && (err != nil || ns.DeletionTimestamp != nil), "it is there"
	})
}
