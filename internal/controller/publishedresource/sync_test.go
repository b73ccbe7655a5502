package publishedresource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSync follows objects of the same name in two workspaces through their whole lives.
func TestSync(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	tenants := []tenant{s.tenant(t), s.tenant(t)}
	for i, in := range tenants {
		kube.Create(t, in, s.cert("web"))
		s.issue(t, s.copyOf(t, in), string(rune('a'+i)))
	}
	for i, in := range tenants {
		web := s.cert("web")
		awaitIssued(t, in, web, string(rune('a'+i)))
		kube.Patch(t, in, web, `{"spec":{"size":"XL"}}`)
		awaitField(t, s.c, s.copyOf(t, in), "XL", "spec", "size")
		for _, reason := range []string{
			objectsync.ReasonAccepted, objectsync.ReasonPlaced, objectsync.ReasonSynced, objectsync.ReasonStatusSynced,
		} {
			kube.AwaitEvent(t, in, reason)
		}
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return cmp.Equal(&v1alpha1.ObjectCounts{Synced: 2}, c)
	})
	for _, in := range tenants {
		copied, web := s.copyOf(t, in), s.cert("web")
		kube.Delete(t, in, web)
		kube.AwaitGone(t, in, web, secretIn(metav1.NamespaceDefault, "web-tls", ""))
		kube.AwaitGone(t, s.c, copied)
		if in.cluster == tenants[0].cluster {
			awaitIssued(t, tenants[1], s.cert("web"), "b") // The other's is not touched.
		}
	}
	states := &corev1.SecretList{}
	if err := s.c.List(t.Context(), states, client.InNamespace(o.Spec.StateNamespace)); err != nil ||
		len(states.Items) != 0 {
		t.Errorf("states left: %d, %v", len(states.Items), err)
	}
}

// TestSyncFollowsSpec shows that a change of the spec takes effect on objects that are there and on new ones, that an
// object outside the filter rests, that a spec that cannot work is reported and changes nothing, and that what is
// turned off, or may only be looked at, stops at once.
func TestSyncFollowsSpec(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	labelled := func(name string) *unstructured.Unstructured {
		u := s.cert(name)
		u.SetLabels(map[string]string{"go": "yes"})
		return u
	}
	web := s.cert("web")
	kube.Create(t, in, web, labelled("one"))
	copied := s.copyNamed(t, in, "web")
	kube.Patch(t, s.c, o, `{"spec":{"filter":{"resource":{"matchLabels":{"go":"yes"}}}}}`)
	s.awaitOrphans(t, o, in, copied)
	kube.Remove(t, in, web)
	update(t, s.c, o, func() { o.Spec.Mutation = template("spec.note", "{{ .Nothing | nosuchfunction }}") })
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonInvalidSpec))
	kube.Create(t, in, labelled("two"))
	s.copyNamed(t, in, "two")

	update(t, s.c, o, func() {
		o.Spec.Mutation = template("spec.note", "for {{ .RemoteObject.metadata.name }}{{ .LocalObject.metadata.name }}")
	})
	await(t, s.c, o, is(xpv2.TypeSynced, ""))
	kube.Create(t, in, labelled("three"))
	s.awaitNotes(t, in, 3)
	for i, halt := range []struct{ set, undo func() }{
		{
			set:  func() { o.Spec.Synchronization = &v1alpha1.Synchronization{} },
			undo: func() { o.Spec.Synchronization.Enabled = true },
		},
		{
			set:  func() { o.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionObserve} },
			undo: func() { o.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionAll} },
		},
	} {
		update(t, s.c, o, halt.set)
		s.wantHalted(t, o, in, labelled(fmt.Sprintf("meanwhile-%d", i)))
		update(t, s.c, o, halt.undo)
		s.awaitNotes(t, in, 4+i)
	}
}

// template returns steps that set a field.
func template(path v1alpha1.MutationPath, value string) *v1alpha1.ResourceMutations {
	return &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{{
		Template: &v1alpha1.TemplateMutation{Path: path, Template: value},
	}}}
}

// awaitNotes waits until there are as many copies, all with a note.
func (s *shop) awaitNotes(t *testing.T, in tenant, count int) {
	t.Helper()
	kube.Eventually(t, "a note in each copy", func() (bool, string) {
		all := s.copies(t, in)
		for _, u := range all {
			if note, _, _ := unstructured.NestedString(u.Object, "spec", "note"); !strings.HasPrefix(note, "for ") {
				return false, fmt.Sprintf("%s has %q", u.GetName(), note)
			}
		}
		return len(all) == count, describeAll(all)
	})
}

// TestSyncNamespaceLabels shows that an object is synced when its namespace gets the labels of the filter, and rests
// when it loses them.
func TestSyncNamespaceLabels(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.Filter = &v1alpha1.ResourceFilter{
			Namespace: &apiextensionsv1.JSON{Raw: []byte(`{"matchLabels":{"sync":"yes"}}`)},
		}
	})
	in, other := s.tenant(t), s.tenant(t)
	web, ns := s.cert("web"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}}
	kube.Create(t, in, web)
	kube.Patch(t, other, ns.DeepCopy(), `{"metadata":{"labels":{"sync":"yes"}}}`)
	kube.Holds(t, "the object is not synced", func() (bool, string) {
		err := in.Get(t.Context(), client.ObjectKeyFromObject(web), web)
		return err == nil && len(web.GetFinalizers()) == 0, fmt.Sprint(err, web.GetFinalizers())
	}, func() { s.turn(t, other) })
	kube.Patch(t, in, ns, `{"metadata":{"labels":{"sync":"yes"}}}`)
	copied := s.copyOf(t, in)
	kube.Patch(t, in, ns, `{"metadata":{"labels":{"sync":null}}}`)
	s.awaitOrphans(t, o, in, copied)
}

// TestSyncRelated follows related objects of both origins as they change, are referred to no more, and go, without
// anything that says to whom they belong.
func TestSyncRelated(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	web := s.naming("web", "first")
	kube.Create(t, in, web)
	copied := s.copyOf(t, in)
	ns := copied.GetNamespace()
	first, tls := secretIn(metav1.NamespaceDefault, "first", "a"), secretIn(ns, "web-tls", "b")
	kube.Create(t, in, first) // After the object that refers to it.
	awaitValue(t, s.c, ns, "first", "a")
	kube.Create(t, s.c, tls)
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "b")
	kube.Patch(t, in, first, `{"stringData":{"key":"c"}}`)
	awaitValue(t, s.c, ns, "first", "c")
	kube.Patch(t, s.c, tls, `{"stringData":{"key":"d"}}`)
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "d")
	above := secretIn(metav1.NamespaceDefault, "web-tls", "")
	kube.Get(t, in, client.ObjectKeyFromObject(above), above)
	if !slices.ContainsFunc(above.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return strings.HasPrefix(e.Manager, objectsync.FieldManagerRelated)
	}) || strings.Contains(fmt.Sprint(above.Labels, above.Annotations), "syncagent.kcp.io") {
		t.Errorf("want nothing but a field manager to say that it is a copy, got %v", above)
	}
	// If the state is lost, the copy is known by that.
	if err := s.c.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(o.Spec.StateNamespace),
		client.HasLabels{objectsync.LabelState}); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "another state", func() (bool, string) {
		states := &corev1.SecretList{}
		err := s.c.List(t.Context(), states, client.InNamespace(o.Spec.StateNamespace))
		return len(states.Items) == 1 && strings.Contains(string(states.Items[0].Data["related"]), "web-tls"),
			fmt.Sprint(err)
	})
	kube.Patch(t, s.c, tls, `{"stringData":{"key":"f"}}`)
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "f")

	kube.Create(t, in, secretIn(metav1.NamespaceDefault, "second", "e"))
	kube.Patch(t, in, web, `{"spec":{"keyName":"second"}}`)
	awaitValue(t, s.c, ns, "second", "e")
	kube.AwaitGone(t, s.c, secretIn(ns, "first", ""))
	kube.Await(t, in, first, "the former Secret without finalizer", func() (bool, string) {
		return len(first.Finalizers) == 0, strings.Join(first.Finalizers, " ")
	})
	kube.Delete(t, s.c, tls)
	kube.AwaitGone(t, in, secretIn(metav1.NamespaceDefault, "web-tls", ""))
	kube.Delete(t, in, secretIn(metav1.NamespaceDefault, "second", ""))
	kube.AwaitGone(t, s.c, secretIn(ns, "second", ""))
	kube.AwaitGone(t, in, secretIn(metav1.NamespaceDefault, "second", ""))
}

// TestSyncSourceGoes shows that no object counts as synced while the CustomResourceDefinition is gone, with which its
// copy goes, that this is reported and nothing is withdrawn, and that all goes on when it is back, without a status.
func TestSyncSourceGoes(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	kube.Create(t, in, s.cert("web"))
	patchStatus(t, s.c, s.copyOf(t, in), "Issued")
	web := s.cert("web")
	awaitField(t, in, web, "Issued", "status", "phase")
	awaitCounts(t, s.c, o, 1, 0)
	before := s.export(t)
	d := definition(s.group, "certs", "secretName", "keyName", "note")
	kube.Delete(t, s.c, d.DeepCopy())
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonSourceMissing))
	await(t, s.c, o, isNot(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonSourceMissing), isNot(xpv2.TypeReady, ""))
	if after := s.export(t); after.ResourceVersion != before.ResourceVersion {
		t.Error("the APIExport must stay as it is while the source is missing")
	}
	awaitCounts(t, s.c, o, 0, 1)
	kube.AwaitGone(t, s.c, d.DeepCopy())
	kube.Create(t, s.c, d)
	awaitCounts(t, s.c, o, 1, 0)
	s.copyOf(t, in)
	kube.Get(t, in, client.ObjectKeyFromObject(web), web)
	if web.Object["status"] != nil {
		t.Errorf("want no status with a new copy, got %v", web.Object["status"])
	}
}
