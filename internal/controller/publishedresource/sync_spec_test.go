package publishedresource_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// template returns steps that set a field.
func template(path v1alpha1.MutationPath, value string) *v1alpha1.ResourceMutations {
	return &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{{
		Template: &v1alpha1.TemplateMutation{Path: path, Template: value},
	}}}
}

// wantHalted creates an object, and fails unless it is neither copied nor written.
func (s *shop) wantHalted(t *testing.T, o *v1alpha1.PublishedResource, in tenant, u *unstructured.Unstructured) {
	t.Helper()
	s.awaitNoCounts(t, o)
	before := len(s.copies(t, in))
	kube.Create(t, in, u)
	kube.Holds(t, "nothing is synced", func() (bool, string) {
		if err := in.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return false, err.Error()
		}
		return len(u.GetFinalizers()) == 0 && len(s.copies(t, in)) == before, strings.Join(u.GetFinalizers(), " ")
	}, otherTurn(t))
}

// otherTurn publishes another API, and returns what has an object of it synced: what could be synced of others by then
// has been.
func otherTurn(t *testing.T) func() {
	t.Helper()
	other := openShop(t)
	other.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.Related = nil })
	in := other.tenant(t)
	return func() { other.turn(t, in) }
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

// TestSyncNamespaceLabels shows that an object is synced when its namespace gets the labels of the filter, and let go
// when it loses them.
func TestSyncNamespaceLabels(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.Filter = &v1alpha1.ResourceFilter{
			Namespace: &v1alpha1.NamespaceFilter{Raw: []byte(`{"matchLabels":{"sync":"yes"}}`)},
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
	s.copyOf(t, in)
	kube.Patch(t, in, ns, `{"metadata":{"labels":{"sync":null}}}`)
	kube.Await(t, in, web, "the object to be let go", func() (bool, string) {
		return len(web.GetFinalizers()) == 0 &&
			len(s.copies(t, in)) == 0, fmt.Sprint(web.GetFinalizers())
	})
}

// TestSyncEndpointGoes shows that the endpoint goes with the last workspace that has bound the API, that what that has
// left behind is still told of, and that objects are synced again when an endpoint comes.
func TestSyncEndpointGoes(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	kube.Create(t, in, s.cert("one"))
	copied := s.copyOf(t, in)
	urls := s.endpoints(t)
	unbind(t, in)
	s.awaitEndpoints(t, o)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 0 && c.Orphaned == 1 })
	kcp.AwaitBound(t, in.cfg, kcp.Bind(t, in.cfg, s.path, exportName, claims()...))
	createServed(t, in.cfg, s.cert("one"))
	s.awaitEndpoints(t, o, urls...)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == 1 && c.Orphaned == 0 })
	if now := s.copyOf(t, in); now.GetUID() != copied.GetUID() || objectsync.IsOrphaned(now) {
		t.Errorf("want the copy taken again, got %v", now.Object["metadata"])
	}
}

// TestSyncRelated follows related objects of both origins as they change, are referred to no more, and go, without
// anything that says to whom they belong.
func TestSyncRelated(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.publishCerts(t)
	in := s.tenant(t)
	web := s.cert("web")
	web.Object["spec"].(map[string]any)["keyName"] = "first"
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
