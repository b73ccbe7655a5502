package publishedresource_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
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
		"sub.crossplane.io/y": "z", objectsync.LabelOrphaned: "2026-11-28",
	})
	web.SetAnnotations(map[string]string{
		"note": "b", "crossplane.io/paused": "true", "crossplane.io/external-name": "theirs",
		objectsync.AnnotationName: "other", corev1.LastAppliedConfigAnnotation: "{}",
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
	if m := kube.AwaitEvent(t, thief, objectsync.ReasonRefused).Message; strings.Contains(m, shared) ||
		strings.Contains(m, victim.cluster) {
		t.Errorf("the warning tells of others: %s", m)
	}
	awaitCounts(t, s.c, o, 1, 3)
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

// TestSyncClosedNamespace shows that a consumer is not given a Secret out of the namespace of another one by whatever
// is opened, although the PublishedResource that has the copies in it is not synced, and has its states elsewhere.
func TestSyncClosedNamespace(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	first := s.publishCerts(t)
	kube.Create(t, s.c, definition(s.group, "rings", "place"))
	second := s.published("rings", "Ring")
	second.Spec.StateNamespace = local.Namespace(t)
	in := func(template string) v1alpha1.RelatedResourceObjectSpec {
		return v1alpha1.RelatedResourceObjectSpec{Template: &v1alpha1.TemplateExpression{Template: template}}
	}
	second.Spec.Related = []v1alpha1.RelatedResource{{
		Identifier: "tls", Origin: v1alpha1.OriginService, Kind: "Secret",
		Object: &v1alpha1.RelatedResourceObject{
			RelatedResourceObjectSpec: in("web-tls"),
			Namespace:                 new(in(`{{ if eq .Side "kcp" }}default{{ else }}{{ .Object.spec.place }}{{ end }}`)),
		},
		ConsumerMayName: &v1alpha1.ConsumerMayName{
			Namespaces: []v1alpha1.NamePattern{"*"}, Objects: []v1alpha1.NamePattern{"*"},
		},
	}}
	s.offer(t, second)
	victim, thief := s.tenant(t), s.tenant(t)
	kube.Create(t, victim, s.cert("web"))
	s.issue(t, s.copyOf(t, victim), "theirs")
	update(t, s.c, first, func() { unsynced(first) })
	s.awaitNoCounts(t, first)

	ring := s.object("Ring", "steals")
	set(t, ring, victim.cluster, "spec", "place")
	kcp.CreateServed(t, thief.cfg, ring)
	kube.AwaitEvent(t, thief, objectsync.ReasonRefused)
	awaitCounts(t, s.c, second, 0, 1)
	err := thief.Get(t.Context(), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "web-tls"},
		&corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the thief has it: %v", err)
	}
}

// TestSyncRefusesForeign shows that two tenants whose objects would have one copy do not share it, that the second is
// told why, and the owner where and in metrics, which go with the PublishedResource, and that the second gets it when
// the first gives it up.
func TestSyncRefusesForeign(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.Related = nil
		o.Spec.Naming = &v1alpha1.ResourceNaming{Namespace: o.Spec.StateNamespace, Name: "{{ .Object.metadata.name }}"}
	})
	first, second := s.tenant(t), s.tenant(t)
	kube.Create(t, first, s.cert("web"))
	s.copyOf(t, first)
	kube.Create(t, second, s.cert("web"))
	if e := kube.AwaitEvent(t, second, objectsync.ReasonNameTaken); e.Type != corev1.EventTypeWarning ||
		strings.Contains(e.Message, o.Spec.StateNamespace) {
		t.Errorf("want a warning that does not tell where the copy is, got %s: %s", e.Type, e.Message)
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return c.Synced == 1 && c.Failed == 1 && len(c.Failures) == 1 && c.Failures[0].Object == "default/web"
	})
	m := metricsOf(t, o.GetName())
	if m["publishedresource_objects synced"] != 1 || m["publishedresource_objects failed"] != 1 ||
		m["publishedresource_sync_errors_total NameTaken"] < 1 || m["publishedresource_sync_duration_seconds"] < 2 {
		t.Errorf("want one object synced and one failed, errors by reason, and durations, got %v", m)
	}
	if got := s.copyOf(t, first).GetLabels()[objectsync.LabelCluster]; got != first.cluster {
		t.Errorf("the copy is of %s now", got)
	}
	if all := s.copies(t, second); len(all) != 0 {
		t.Errorf("the second has copies: %s", describeAll(all))
	}
	kube.Delete(t, first, s.cert("web"))
	s.copyOf(t, second) // As soon as the name is free.
	remove(t, s.c, o)
	kube.Eventually(t, "no metrics of what is gone", func() (bool, string) {
		m := metricsOf(t, o.GetName())
		return len(m) == 0, fmt.Sprint(m)
	})
}

// cluster returns the logical cluster of the workspace of a shop.
func (s *shop) cluster(t *testing.T) string {
	t.Helper()
	return s.export(t).Annotations["kcp.io/cluster"]
}

// TestSyncOtherExport shows that objects of a workspace that has bound another APIExport with the same schema, which
// kcp shows at our endpoint, too, are not synced, do not count, and keep no API from being withdrawn; and that they are
// once the workspace binds ours.
func TestSyncOtherExport(t *testing.T) {
	t.Parallel()
	const second = "second.example.com"
	s := newShop(t, exportName, second)
	s.connect(t, s.agent(t))
	o := s.publishCerts(t, withdrawn)
	e := &apisv1alpha2.APIExport{}
	in := kcp.Client(t, s.admin)
	kube.Get(t, in, types.NamespacedName{Name: second}, e)
	e.Spec.Resources = []apisv1alpha2.ResourceSchema{kcp.Offer(s.group, "certs", o.Status.ResourceSchemaName)}
	kube.Update(t, in, e)
	ours, theirs, later := s.tenant(t), s.consumer(t, second), s.consumer(t, second)
	for _, x := range []tenant{ours, theirs, later} {
		kcp.CreateServed(t, x.cfg, s.cert("web"))
	}
	s.copyOf(t, ours)
	s.awaitShown(t, ours, theirs, later)
	kube.Holds(t, "theirs is not synced", func() (bool, string) {
		all := append(s.copies(t, theirs), s.copies(t, later)...)
		return len(all) == 0 && len(finalizersOf(t, theirs, s.cert("web"))) == 0, describeAll(all)
	}, func() { s.turn(t, ours) })
	awaitCounts(t, s.c, o, 1, 0)

	kube.Remove(t, later, &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: second}})
	kcp.AwaitBound(t, later.cfg, kcp.Bind(t, later.cfg, s.path, exportName, claims()...))
	kcp.CreateServed(t, later.cfg, s.cert("web"))
	s.copyOf(t, later)
	for _, x := range []tenant{ours, later} {
		kube.Remove(t, x, s.cert("web"))
	}
	remove(t, s.c, o)
	kube.Get(t, theirs, client.ObjectKeyFromObject(s.cert("web")), s.cert("web"))
}

// awaitShown waits until the endpoint of the shop shows the Certs of tenants.
func (s *shop) awaitShown(t *testing.T, all ...tenant) {
	t.Helper()
	cfg := rest.CopyConfig(s.admin)
	cfg.Host = s.endpoints(t)[0] + "/clusters/*"
	c := kcp.Client(t, cfg)
	kube.Eventually(t, "the Certs of all at our endpoint", func() (bool, string) {
		list := s.list()
		if err := c.List(t.Context(), list); err != nil {
			return false, err.Error()
		}
		var clusters []string
		for i := range list.Items {
			clusters = append(clusters, list.Items[i].GetAnnotations()["kcp.io/cluster"])
		}
		shown := strings.Join(clusters, " ")
		for _, x := range all {
			if !strings.Contains(shown, x.cluster) {
				return false, shown
			}
		}
		return true, ""
	})
}

// TestSyncMoves shows that of two APIExports of one name, whose owner has one name, too, each has its own copies: of a
// workspace that goes from one to the other the copy is made again, is the other's from then on, and neither written
// nor deleted by the first.
func TestSyncMoves(t *testing.T) {
	t.Parallel()
	from, to := openShop(t), openShop(t)
	to.group = from.group
	first := from.publishCerts(t)
	second := to.offer(t, to.publishedCerts(first.Spec.StateNamespace))
	goes, stays := from.tenant(t), from.tenant(t)
	kube.Create(t, goes, from.cert("web"))
	copied := from.copyOf(t, goes)
	if got := copied.GetAnnotations()[objectsync.AnnotationPublication]; !strings.HasPrefix(got, first.GetName()) {
		t.Errorf("want the copy to tell whose it is, got %q", got)
	}

	unbind(t, goes)
	kcp.AwaitBound(t, goes.cfg, kcp.Bind(t, goes.cfg, to.path, exportName, claims()...))
	kcp.CreateServed(t, goes.cfg, to.cert("web"))
	awaitCounts(t, to.c, second, 1, 0)
	now := to.copyOf(t, goes)
	if objectsync.IsOrphaned(now) || now.GetUID() == copied.GetUID() {
		t.Errorf("want the copy of %v made again, got %v", copied.GetUID(), now.Object["metadata"])
	}
	kube.Holds(t, "the copy rests", func() (bool, string) {
		is := to.copyOf(t, goes)
		return is.GetUID() == now.GetUID() && is.GetResourceVersion() == now.GetResourceVersion(), describe(second)
	}, func() { from.turn(t, stays) })
	awaitObjects(t, from.c, first, func(c *v1alpha1.ObjectCounts) bool {
		return c.Synced == 0 && c.Failed == 0 && c.Orphaned == 0
	})
	kube.Remove(t, goes, to.cert("web"))
	kube.AwaitGone(t, to.c, now)
}
