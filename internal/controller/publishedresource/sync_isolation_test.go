package publishedresource_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncPrivateMetadata shows that a tenant can give its copy neither another owner nor another tenant's identity,
// nor tell Crossplane anything about it.
func TestSyncPrivateMetadata(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in, victim := s.tenant(t), s.tenant(t)
	kube.Create(t, victim, s.cert("web"))
	theirs := s.copyOf(t, victim)
	web := s.cert("web")
	web.SetLabels(map[string]string{
		"team": "a", v1alpha1.LabelKeyAgentName: "another", objectsync.LabelCluster: victim.cluster,
		objectsync.LabelNameHash: theirs.GetLabels()[objectsync.LabelNameHash], "crossplane.io/claim-name": "x",
		"sub.crossplane.io/y": "z",
	})
	web.SetAnnotations(map[string]string{
		"note": "b", "crossplane.io/paused": "true", "crossplane.io/external-name": "theirs",
		objectsync.AnnotationName:     "other",
		objectsync.AnnotationOrphaned: "true", corev1.LastAppliedConfigAnnotation: "{}",
	})
	kube.Create(t, in, web)
	copied := s.copyOf(t, in)
	wantLabels := map[string]string{"team": "a"}
	for _, key := range []string{v1alpha1.LabelKeyAgentName, objectsync.LabelNameHash, objectsync.LabelNamespaceHash} {
		wantLabels[key] = theirs.GetLabels()[key]
	}
	wantLabels[objectsync.LabelCluster] = in.cluster
	if diff := cmp.Diff(wantLabels, copied.GetLabels()); diff != "" {
		t.Errorf("labels of the copy: -want, +got:\n%s", diff)
	}
	wantAnnotations := map[string]string{
		"note": "b", objectsync.AnnotationName: "web", objectsync.AnnotationNamespace: metav1.NamespaceDefault,
		objectsync.AnnotationKind:        "Cert." + s.group,
		objectsync.AnnotationPublication: strings.Join([]string{o.GetName(), s.cluster(t), exportName}, "/"),
	}
	if diff := cmp.Diff(wantAnnotations, copied.GetAnnotations()); diff != "" {
		t.Errorf("annotations of the copy: -want, +got:\n%s", diff)
	}
	kube.Remove(t, in, web)
	if now := s.copyOf(t, victim); now.GetUID() != theirs.GetUID() || now.GetDeletionTimestamp() != nil {
		t.Errorf("the other tenant's copy is concerned: %v", now.Object["metadata"])
	}
}

// sharedNamespace places all copies in one namespace, by names that cannot collide.
func sharedNamespace(o *v1alpha1.PublishedResource) {
	o.Spec.Naming = &v1alpha1.ResourceNaming{
		Namespace: o.Spec.StateNamespace, Name: "{{ .ClusterName }}-{{ .Object.metadata.name }}",
	}
}

// TestSyncForeignSecrets shows that where all tenants' copies share a namespace, none reads or overwrites another's
// Secret, or the operator's, by naming it.
func TestSyncForeignSecrets(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, sharedNamespace)
	shared := o.Spec.StateNamespace
	kube.Create(t, s.c, secretIn(shared, "operators", "secret"))
	victim, thief := s.tenant(t), s.tenant(t)
	kube.Create(t, victim, s.cert("web"))
	issued := secretIn(shared, "web-tls", "theirs")
	copied := s.copyOf(t, victim)
	issued.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(copied, copied.GroupVersionKind())}
	kube.Create(t, s.c, issued)
	awaitValue(t, victim, metav1.NamespaceDefault, "web-tls", "theirs")

	for _, name := range []string{"web-tls", "operators"} {
		u := s.cert("steals-" + name)
		unstructured.RemoveNestedField(u.Object, "spec", "keyName")
		if err := unstructured.SetNestedField(u.Object, name, "spec", "secretName"); err != nil {
			t.Fatal(err)
		}
		kube.Create(t, thief, u)
	}
	writes := s.cert("writes")
	if err := unstructured.SetNestedField(writes.Object, "operators", "spec", "keyName"); err != nil {
		t.Fatal(err)
	}
	kube.Create(t, thief, secretIn(metav1.NamespaceDefault, "operators", "mine"), writes)
	if m := awaitEvent(t, thief, objectsync.ReasonRefused).Message; strings.Contains(m, shared) ||
		strings.Contains(m, victim.cluster) {
		t.Errorf("the warning tells of others: %s", m)
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Failed == 3 })
	kube.Holds(t, "nothing is stolen", func() (bool, string) {
		err := thief.Get(t.Context(), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "web-tls"},
			&corev1.Secret{})
		return apierrors.IsNotFound(err), "the thief has it"
	}, func() { s.turn(t, victim) })
	awaitValue(t, thief, metav1.NamespaceDefault, "operators", "mine")
	awaitValue(t, s.c, shared, "operators", "secret")

	// What was refused can be deleted, and takes nothing with it.
	for _, name := range []string{"steals-web-tls", "steals-operators", "writes"} {
		u := s.cert(name)
		kube.Remove(t, thief, u)
	}
	awaitValue(t, s.c, shared, "operators", "secret")
	awaitValue(t, s.c, shared, "web-tls", "theirs")
	awaitValue(t, victim, metav1.NamespaceDefault, "web-tls", "theirs")
}
