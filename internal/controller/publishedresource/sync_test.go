package publishedresource_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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
		kube.Eventually(t, "the new size below", func() (bool, string) {
			size, _, _ := unstructured.NestedString(s.copyOf(t, in).Object, "spec", "size")
			return size == "XL", size
		})
		for _, reason := range []string{
			objectsync.ReasonAccepted, objectsync.ReasonPlaced, objectsync.ReasonSynced, objectsync.ReasonStatusSynced,
		} {
			awaitEvent(t, in, reason)
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

// TestSyncPromptly shows that a new object has its copy at once, and then its status, and that neither waits for some
// seconds to be tried again.
func TestSyncPromptly(t *testing.T) {
	s := openShop(t)
	s.publishCerts(t)
	in := s.tenant(t)
	kube.Create(t, in, s.cert("first")) // For which the namespace is made.
	s.copyOf(t, in)
	n := 0
	kube.Figure(t, "from a new object to its copy, and back to its status", func() time.Duration {
		n++
		web, begin := s.cert(fmt.Sprintf("web-%d", n)), time.Now()
		kube.Create(t, in, web)
		s.issue(t, s.copyNamed(t, in, web.GetName()), "a")
		awaitIssued(t, in, web, "a")
		return time.Since(begin)
	})
}

// copyNamed waits for the copy of one of several Certs of a tenant.
func (s *shop) copyNamed(t *testing.T, in tenant, name string) *unstructured.Unstructured {
	t.Helper()
	var copied *unstructured.Unstructured
	kube.Eventually(t, "the copy of "+name, func() (bool, string) {
		all := s.copies(t, in)
		for i := range all {
			if all[i].GetAnnotations()[objectsync.AnnotationName] == name {
				copied = &all[i]
			}
		}
		return copied != nil, describeAll(all)
	})
	return copied
}

// TestSyncFollowsSpec shows that a change of the spec takes effect on objects that are there and on new ones, that an
// object outside the filter is let go, that a spec that cannot work is reported and changes nothing, and that what is
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
	s.copyNamed(t, in, "web")
	kube.Patch(t, s.c, o, `{"spec":{"filter":{"resource":{"matchLabels":{"go":"yes"}}}}}`)
	kube.Await(t, in, web, "what the filter leaves out to be let go", func() (bool, string) {
		all := s.copies(t, in)
		return len(all) == 1 && len(web.GetFinalizers()) == 0, describeAll(all)
	})
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

// TestSyncRefusesForeign shows that two tenants whose objects would have one copy do not share it, that the second is
// told why, and the owner where, and that the second gets it when the first gives it up.
func TestSyncRefusesForeign(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	kube.Create(t, s.c, definition(s.group, "certs", "secretName"))
	o := s.published("certs", "Cert")
	o.Spec.StateNamespace = local.Namespace(t)
	o.Spec.Naming = &v1alpha1.ResourceNaming{Namespace: o.Spec.StateNamespace, Name: "{{ .Object.metadata.name }}"}
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	first, second := s.tenant(t), s.tenant(t)
	kube.Create(t, first, s.cert("web"))
	s.copyOf(t, first)
	kube.Create(t, second, s.cert("web"))
	if e := awaitEvent(t, second, objectsync.ReasonNameTaken); e.Type != corev1.EventTypeWarning ||
		strings.Contains(e.Message, o.Spec.StateNamespace) {
		t.Errorf("want a warning that does not tell where the copy is, got %s: %s", e.Type, e.Message)
	}
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return c.Synced == 1 && c.Failed == 1 && len(c.Failures) == 1 && c.Failures[0].Object == "default/web"
	})
	if got := s.copyOf(t, first).GetLabels()[objectsync.LabelCluster]; got != first.cluster {
		t.Errorf("the copy is of %s now", got)
	}
	if all := s.copies(t, second); len(all) != 0 {
		t.Errorf("the second has copies: %s", describeAll(all))
	}
	kube.Delete(t, first, s.cert("web"))
	s.copyOf(t, second) // As soon as the name is free.
}
