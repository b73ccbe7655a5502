package collection_test

import (
	"context"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	mcollectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/collection/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/collection"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// deleteMember does what a pass does to a member that is to be deleted.
func (w world) deleteMember(ctx context.Context, of client.Object, name string, uid types.UID) error {
	if c, ok := of.(*collectionv1alpha1.ObservedObjectCollection); ok {
		return collection.DeleteMember(ctx, w.c, scope.ClusterCollection(w.c), c, name, uid)
	}
	return collection.DeleteMember(ctx, w.c, scope.NamespacedCollection(w.c),
		of.(*mcollectionv1alpha1.ObservedObjectCollection), name, uid)
}

// TestMemberThatHasGone shows that a member which somebody else has deleted just before is no failure, and that its
// successor of the same name is not deleted in its place. A defect of provider-kubernetes: that it is not found is an
// error, with which the collection is not synced.
func TestMemberThatHasGone(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, w world) {
		oc := w.collect()
		first := w.scope.Object(w.ns, w.tns, w.ns, build.ConfigMap(w.tns, "first"))
		kube.Create(t, w.c, first)
		kube.Remove(t, w.c, first)
		if err := w.deleteMember(t.Context(), oc, w.tns, first.GetUID()); err != nil {
			t.Errorf("deletion of a member that has gone: want no error, got %v", err)
		}
		second := w.scope.Object(w.ns, w.tns, w.ns, build.ConfigMap(w.tns, "first"))
		kube.Create(t, w.c, second)
		if err := w.deleteMember(t.Context(), oc, w.tns, first.GetUID()); !apierrors.IsConflict(err) {
			t.Errorf("deletion of a member that has a successor: want a conflict, got %v", err)
		}
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(second), second); err != nil ||
			second.GetDeletionTimestamp() != nil {
			t.Errorf("the successor must stay, got %v, deleted %v", err, second.GetDeletionTimestamp())
		}
	})
}

// TestStatusBesideOthers shows that the status of a collection is written while somebody else writes its metadata all
// the time. A defect of provider-kubernetes: it updates the whole, which fails whenever somebody else has written
// meanwhile.
func TestStatusBesideOthers(t *testing.T) {
	const writes = 30
	forScopes(t, func(t *testing.T, w world) {
		oc := w.collect()
		kube.Create(t, w.c, oc)
		w.awaitSettled(t, oc)
		audit := local.Audit(t)
		mark := audit.Mark()
		for i := range writes {
			kind := "ConfigMap"
			if i%2 == 0 {
				kind = "NoSuchKind" // Which turns condition Synced.
			}
			kube.Patch(t, w.c, oc, `{"metadata":{"labels":{"n":"`+strconv.Itoa(i)+`"}},"spec":{"observeObjects":{"kind":"`+
				kind+`"}}}`)
			kube.Patch(t, w.c, oc, `{"metadata":{"labels":{"more":"`+strconv.Itoa(i)+`"}}}`)
		}
		w.awaitSettled(t, oc)
		var written int
		for _, e := range audit.Since(mark).By(user) {
			if e.Name != oc.GetName() || e.Subresource != "status" {
				continue
			}
			written++
			if e.Verb != "patch" || e.Code >= 300 {
				t.Errorf("write of the status: want a patch that succeeds, got %s with code %d", e.Verb, e.Code)
			}
		}
		if written < 2 {
			t.Errorf("writes of the status: want some, got %d", written)
		}
		kube.Holds(t, "the collection stays synced", func() (bool, string) {
			err := w.c.Get(t.Context(), client.ObjectKeyFromObject(oc), oc)
			return err == nil && oc.GetCondition("Synced").Status == corev1.ConditionTrue,
				oc.GetCondition("Synced").Message
		}, func() { w.passQueue(t) })
	})
}
