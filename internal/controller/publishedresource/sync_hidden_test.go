package publishedresource_test

import (
	"fmt"
	"strings"
	"testing"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// acceptLabelled accepts the permission claim for Secrets for those with a label alone.
func acceptLabelled(t *testing.T, in tenant, label, value string) {
	t.Helper()
	b := &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}}
	update(t, in, b, func() {
		for i := range b.Spec.PermissionClaims {
			if c := &b.Spec.PermissionClaims[i]; c.Resource == "secrets" {
				c.Selector = apisv1alpha2.PermissionClaimSelector{
					LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{label: value}},
				}
			}
		}
	})
}

// TestSyncHiddenCopy shows that a consumer whose claim hides one copy is told, that the operator sees it counted, and
// that the copy is current soon after it is shown again, although its origin has changed meanwhile.
func TestSyncHiddenCopy(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	acceptLabelled(t, in, "shared", "yes")
	kube.Create(t, in, s.cert("web"))
	s.issue(t, s.copyOf(t, in), "one")
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "one")
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Failed == 0 })

	label := func(value string) {
		t.Helper()
		u := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web-tls"}}
		kube.Patch(t, in, u, `{"metadata":{"labels":{"shared":`+value+`}}}`)
	}
	label("null")
	kube.Patch(t, s.c, secretIn(in.cluster, "web-tls", ""), `{"stringData":{"key":"two"}}`)
	awaitEvent(t, in, objectsync.ReasonClaimMissing)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Failed == 1 })
	label(`"yes"`)
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "two")
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Failed == 0 })
}

// TestSyncHiddenOrigin shows that a consumer whose claim hides an object that has been copied is told, that the copy
// stays, also while kcp is about to show it again, and that a copy goes whose origin is really gone.
func TestSyncHiddenOrigin(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in, other := s.tenant(t), s.tenant(t)
	acceptLabelled(t, in, "shared", "yes")
	web, key := s.cert("web"), secretIn(metav1.NamespaceDefault, "web-key", "one")
	web.Object["spec"].(map[string]any)["keyName"] = key.Name
	key.Labels = map[string]string{"shared": "yes"}
	kube.Create(t, in, key, web)
	awaitValue(t, s.c, in.cluster, key.Name, "one")
	was := secretIn(in.cluster, key.Name, "")
	kube.Get(t, s.c, client.ObjectKeyFromObject(was), was)
	stays := func() (bool, string) {
		is := &corev1.Secret{}
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(was), is)
		return err == nil && is.UID == was.UID, fmt.Sprint(err)
	}

	kube.Patch(t, in, key, `{"metadata":{"labels":{"shared":null}}}`)
	if e := awaitEvent(t, in, objectsync.ReasonClaimMissing); !strings.Contains(e.Message, `"web-key"`) {
		t.Errorf("want the hidden object named, got %s", e.Message)
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Failed == 1 })
	kube.Holds(t, "the copy of what is hidden", stays, func() { s.turn(t, other) })
	acceptOnly(t, in, "events", "namespaces")
	kube.Holds(t, "the copy without a claim", stays, func() { s.turn(t, other) })
	acceptOnly(t, in, "events", "namespaces", "secrets")
	kube.Patch(t, in, key, `{"stringData":{"key":"two"}}`)
	awaitValue(t, s.c, in.cluster, key.Name, "two")
	kube.Holds(t, "the copy of what is shown again", stays, func() { s.turn(t, other) })
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Failed == 0 })

	kube.Patch(t, in, key, `{"metadata":{"finalizers":null}}`)
	kube.Delete(t, in, key)
	kube.AwaitGone(t, s.c, was)
}
