package publishedresource_test

import (
	"fmt"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// refusedRest exceeds the backoff of 400 s after a fourth refusal, which a busy machine reaches. Nothing notifies us
// that the admission policy is gone.
const refusedRest = 8 * time.Minute

// TestSyncUnboundByForce shows that a copy which cannot be changed while its workspace unbinds the API, and whose
// object is then taken by force, is given up once it can be: nothing in kcp tells of it any more. It is deleted or left
// behind as was asked for, and nothing is tried for ever.
func TestSyncUnboundByForce(t *testing.T) {
	t.Parallel()
	for policy, isGivenUp := range map[xpv2.DeletionPolicy]func(*unstructured.Unstructured, error) bool{
		xpv2.DeletionDelete: func(_ *unstructured.Unstructured, err error) bool { return apierrors.IsNotFound(err) },
		xpv2.DeletionOrphan: func(u *unstructured.Unstructured, err error) bool {
			return err == nil && objectsync.IsOrphaned(u)
		},
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
				o.Spec.UnboundWorkspaces, o.Spec.Related = policy, nil
			})
			leaves, stays := s.tenant(t), s.tenant(t)
			kube.Create(t, leaves, s.cert("web"))
			kube.Create(t, stays, s.cert("web"))
			copied := s.copyOf(t, leaves)
			s.copyOf(t, stays)

			refusing := s.refuseChanges(t, copied)
			s.unbindByForce(t, leaves)
			awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Failed == 1 })
			kube.Delete(t, s.c, refusing)
			kube.EventuallyBy(t, refusedRest, "the copy to be given up", func() (bool, string) {
				err := s.c.Get(t.Context(), client.ObjectKeyFromObject(copied), copied)
				return isGivenUp(copied, err), fmt.Sprint(err, copied.Object["metadata"])
			})
			awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Failed == 0 })
		})
	}
}

// refuseChanges has the service cluster refuse to change or delete a copy, and waits until it does.
func (s *shop) refuseChanges(t *testing.T, copied *unstructured.Unstructured) client.Object {
	t.Helper()
	spec := admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: matching(s.group, "certs", admissionv1.Update, admissionv1.Delete),
		Validations:      []admissionv1.Validation{{Expression: "false", Message: refusal}},
	}
	cluster := copied.GetLabels()[objectsync.LabelCluster]
	spec.MatchConstraints.ObjectSelector = &metav1.LabelSelector{
		MatchLabels: map[string]string{objectsync.LabelCluster: cluster},
	}
	binding := refuse(t, s.c, s.group, spec)
	kube.Eventually(t, "refusal", func() (bool, string) {
		return isRefused(s.c.Delete(t.Context(), copied, client.DryRunAll))
	})
	return binding
}

// unbindByForce deletes the APIBinding of a tenant, and its Cert without waiting for who holds it.
func (s *shop) unbindByForce(t *testing.T, in tenant) {
	t.Helper()
	b := &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}}
	kube.Delete(t, in, b)
	web := s.cert("web")
	kube.Eventually(t, "the object to be deleted", func() (bool, string) {
		err := in.Get(t.Context(), client.ObjectKeyFromObject(web), web)
		return err == nil && web.GetDeletionTimestamp() != nil, fmt.Sprint(err)
	})
	kube.Patch(t, in, web, `{"metadata":{"finalizers":null}}`)
	kube.AwaitGone(t, in, b)
}
