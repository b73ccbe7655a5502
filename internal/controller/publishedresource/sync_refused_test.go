package publishedresource_test

import (
	"fmt"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// accept makes a tenant accept the claims on some resources and no others: on Secrets for those with labels, if there
// are any.
func accept(t *testing.T, in tenant, labels map[string]string, resources ...string) {
	t.Helper()
	some := kcp.Accepted(kcp.Claims(resources...)...)
	for i := range some {
		if some[i].Resource == "secrets" && labels != nil {
			some[i].Selector = apisv1alpha2.PermissionClaimSelector{LabelSelector: metav1.LabelSelector{MatchLabels: labels}}
		}
	}
	b := &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}}
	update(t, in, b, func() { b.Spec.PermissionClaims = some })
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
	accept(t, rejects, nil, "events", "namespaces")
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
	kube.AwaitEvent(t, rejects, objectsync.ReasonClaimMissing)
	kube.AwaitEvent(t, full, objectsync.ReasonNoRoom)
	kube.AwaitEvent(t, denied, objectsync.ReasonRejected)
	awaitCounts(t, s.c, o, 0, 3*each)
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonObjectsNotSynced))
	a.awaitRest(t, 10*time.Second)

	accept(t, rejects, nil, "events", "namespaces", "secrets")
	s.setQuota(t, full.cluster, "1000")
	kube.Delete(t, s.c, policy)
	kube.Eventually(t, "permission", func() (bool, string) {
		err := s.c.Create(t.Context(), secretIn(denied.cluster, "probe", ""), client.DryRunAll)
		return err == nil, fmt.Sprint(err)
	})
	for _, in := range []tenant{full, denied} { // The first to succeed wakes the others.
		kube.Patch(t, in, s.cert("web-0"), `{"metadata":{"labels":{"again":"please"}}}`)
	}
	awaitCounts(t, s.c, o, 3*each, 0)
	await(t, s.c, o, is(xpv2.TypeSynced, ""))
	for i := range each {
		awaitValue(t, rejects, metav1.NamespaceDefault, fmt.Sprintf("web-%d-tls", i), "theirs")
		awaitValue(t, s.c, full.cluster, fmt.Sprintf("web-%d-key", i), "mine")
		awaitValue(t, s.c, denied.cluster, fmt.Sprintf("web-%d-key", i), "mine")
	}
}

// TestSyncHidden shows what becomes of related objects that a workspace hides, one by its label or all by a withdrawn
// claim, from the service cluster and from the workspace. Its consumer is told and the operator sees it counted,
// nothing is deleted or made again, also while kcp is about to show it again, and what has changed meanwhile is current
// soon after that. A copy goes whose origin is deleted.
func TestSyncHidden(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in, other := s.tenant(t), s.tenant(t)
	key := secretIn(metav1.NamespaceDefault, "web-key", "one")
	key.Labels = map[string]string{"shared": "yes"}
	accept(t, in, key.Labels, "events", "namespaces", "secrets")
	kube.Create(t, in, key, s.naming("web", key.Name))
	s.issue(t, s.copyOf(t, in), "one")
	wantValues := func(ofKey, ofTLS string) {
		t.Helper()
		awaitValue(t, s.c, in.cluster, "web-key", ofKey)
		awaitValue(t, in, metav1.NamespaceDefault, "web-tls", ofTLS)
	}
	wantValues("one", "one")
	below, above := secretIn(in.cluster, "web-key", ""), secretIn(metav1.NamespaceDefault, "web-tls", "")
	kube.Get(t, s.c, client.ObjectKeyFromObject(below), below)
	kube.Get(t, in, client.ObjectKeyFromObject(above), above)
	stay := func(what string) {
		t.Helper()
		kube.Holds(t, "the copies "+what, func() (bool, string) {
			for c, was := range map[client.Client]*corev1.Secret{s.c: below, in: above} {
				is := &corev1.Secret{}
				err := c.Get(t.Context(), client.ObjectKeyFromObject(was), is)
				if err != nil || is.UID != was.UID {
					return false, fmt.Sprint(was.Name, err)
				}
			}
			return true, ""
		}, func() { s.turn(t, other) })
	}
	label := func(o *corev1.Secret, value string) {
		t.Helper()
		kube.Patch(t, in, o.DeepCopy(), `{"metadata":{"labels":{"shared":`+value+`}}}`)
	}

	label(above, "null")
	kube.Patch(t, s.c, secretIn(in.cluster, "web-tls", ""), `{"stringData":{"key":"two"}}`)
	kube.AwaitEvent(t, in, objectsync.ReasonClaimMissing)
	awaitCounts(t, s.c, o, 0, 1)
	label(above, `"yes"`)
	wantValues("one", "two")
	awaitCounts(t, s.c, o, 1, 0)

	label(key, "null")
	kube.AwaitEvent(t, in, objectsync.ReasonClaimMissing, "web-key")
	awaitCounts(t, s.c, o, 0, 1)
	stay("with a hidden origin")
	accept(t, in, nil, "events", "namespaces")
	stay("without a claim")
	kube.Patch(t, in, key.DeepCopy(), `{"stringData":{"key":"three"}}`)
	kube.Patch(t, s.c, secretIn(in.cluster, "web-tls", ""), `{"stringData":{"key":"three"}}`)
	accept(t, in, nil, "events", "namespaces", "secrets")
	wantValues("three", "three")
	stay("that are shown again")
	awaitCounts(t, s.c, o, 1, 0)

	kube.Delete(t, in, key)
	kube.AwaitGone(t, s.c, below)
}
