package publishedresource_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// acceptOnly makes a tenant accept the claims on some resources and no others.
func acceptOnly(t *testing.T, in tenant, accepted ...string) {
	t.Helper()
	var some []apisv1alpha2.PermissionClaim
	for _, c := range claims() {
		if slices.Contains(accepted, c.Resource) {
			some = append(some, c)
		}
	}
	b := &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}}
	update(t, in, b, func() { b.Spec.PermissionClaims = kcp.Accepted(some...) })
}

// setQuota sets how many Secrets a namespace of the service cluster may have. No controller does what the status needs.
func (s *shop) setQuota(t *testing.T, namespace, secrets string) {
	t.Helper()
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"}}
	hard := corev1.ResourceList{"count/secrets": resource.MustParse(secrets)}
	q.Spec.Hard = hard
	if err := client.IgnoreAlreadyExists(s.c.Create(t.Context(), q)); err != nil {
		t.Fatal(err)
	}
	kube.Await(t, s.c, q, "the quota", func() (bool, string) {
		q.Spec.Hard = hard
		if err := s.c.Update(t.Context(), q); err != nil {
			return false, err.Error()
		}
		q.Status = corev1.ResourceQuotaStatus{
			Hard: hard, Used: corev1.ResourceList{"count/secrets": resource.MustParse("0")},
		}
		err := s.c.Status().Update(t.Context(), q)
		return err == nil, fmt.Sprint(err)
	})
}

// TestSyncRefusalsRest shows that objects rest whose related objects a server refuses, by a claim, a quota or a policy:
// nothing is written, the right people are told, and a cure is found.
func TestSyncRefusalsRest(t *testing.T) {
	const each = 5 // objects of each kind
	s := openShop(t)
	o := s.publishCerts(t)
	rejects, full, denied := s.tenant(t), s.tenant(t), s.tenant(t)
	acceptOnly(t, rejects, "events", "namespaces")
	for _, in := range []tenant{rejects, full, denied} {
		kube.Create(t, s.c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in.cluster}})
	}
	s.setQuota(t, full.cluster, "0")
	policy := refuse(t, s.c, denied.cluster+".example.com", admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: matching("", "secrets", admissionv1.Create),
		Validations: []admissionv1.Validation{{
			Expression: "object.metadata.namespace != '" + denied.cluster + "'", Message: refusal,
		}},
	})
	kube.Eventually(t, "refusal", func() (bool, string) {
		return isRefused(s.c.Create(t.Context(), secretIn(denied.cluster, "probe", ""), client.DryRunAll))
	})
	a := s.account(t)
	for i := range each {
		name := fmt.Sprintf("web-%d", i)
		kube.Create(t, s.c, secretIn(rejects.cluster, name+"-tls", "theirs"))
		kube.Create(t, rejects, s.cert(name))
		for _, in := range []tenant{full, denied} {
			u := s.cert(name)
			u.Object["spec"].(map[string]any)["keyName"] = name + "-key"
			kube.Create(t, in, secretIn(metav1.NamespaceDefault, name+"-key", "mine"), u)
		}
	}
	awaitEvent(t, rejects, objectsync.ReasonClaimMissing)
	awaitEvent(t, full, objectsync.ReasonNoRoom)
	awaitEvent(t, denied, objectsync.ReasonRejected)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 0 && c.Failed == 3*each })
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonObjectsNotSynced))
	a.awaitRest(t, 10*time.Second)

	acceptOnly(t, rejects, "events", "namespaces", "secrets")
	s.setQuota(t, full.cluster, "1000")
	kube.Delete(t, s.c, policy)
	kube.Eventually(t, "permission", func() (bool, string) {
		err := s.c.Create(t.Context(), secretIn(denied.cluster, "probe", ""), client.DryRunAll)
		return err == nil, fmt.Sprint(err)
	})
	for _, in := range []tenant{full, denied} { // The first to succeed wakes the others.
		kube.Patch(t, in, s.cert("web-0"), `{"metadata":{"labels":{"again":"please"}}}`)
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 3*each && c.Failed == 0 })
	await(t, s.c, o, is(xpv2.TypeSynced, ""))
	for i := range each {
		awaitValue(t, rejects, metav1.NamespaceDefault, fmt.Sprintf("web-%d-tls", i), "theirs")
		awaitValue(t, s.c, full.cluster, fmt.Sprintf("web-%d-key", i), "mine")
		awaitValue(t, s.c, denied.cluster, fmt.Sprintf("web-%d-key", i), "mine")
	}
}

// TestSyncClaimWithdrawn shows that what a workspace hides for a while is neither deleted nor made again, and goes on
// and goes as before when it is shown again.
func TestSyncClaimWithdrawn(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in, other := s.tenant(t), s.tenant(t)
	web, key := s.cert("web"), secretIn(metav1.NamespaceDefault, "web-key", "mine")
	web.Object["spec"].(map[string]any)["keyName"] = key.Name
	kube.Create(t, in, key, web)
	s.issue(t, s.copyOf(t, in), "theirs")
	awaitValue(t, s.c, in.cluster, key.Name, "mine")
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "theirs")

	acceptOnly(t, in, "events", "namespaces")
	awaitEvent(t, in, objectsync.ReasonClaimMissing)
	kube.Holds(t, "the copies stay", func() (bool, string) {
		below, above := &corev1.Secret{}, &corev1.Secret{}
		if err := s.c.Get(t.Context(), types.NamespacedName{Namespace: in.cluster, Name: key.Name}, below); err != nil {
			return false, err.Error()
		}
		err := in.Get(t.Context(), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "web-tls"}, above)
		return err == nil, fmt.Sprint(err)
	}, func() { s.turn(t, other) })
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Failed == 1 })

	acceptOnly(t, in, "events", "namespaces", "secrets")
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Failed == 0 })
	kube.Patch(t, in, key, `{"stringData":{"key":"rotated"}}`)
	awaitValue(t, s.c, in.cluster, key.Name, "rotated")
	kube.Patch(t, s.c, secretIn(in.cluster, "web-tls", ""), `{"stringData":{"key":"rotated"}}`)
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "rotated")
	kube.Remove(t, in, web)
	kube.AwaitGone(t, s.c, secretIn(in.cluster, key.Name, ""))
	if err := in.Get(t.Context(), client.ObjectKeyFromObject(key), key); err != nil || len(key.Finalizers) > 0 {
		t.Errorf("want the Secret left alone, got %v, %v", key.Finalizers, err)
	}
}
