package publishedresource_test

import (
	"strings"
	"testing"
	"time"

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

// synced is how long it may take on a busy machine until objects are in step.
const synced = 2 * time.Minute

// A tenant is a workspace that has bound the API of a shop and accepted all claims.
type tenant struct {
	client.Client

	cfg     *rest.Config
	cluster string
}

// claims are those that the synchronization of Secrets needs.
func claims() []apisv1alpha2.PermissionClaim {
	var out []apisv1alpha2.PermissionClaim
	for _, r := range []string{"events", "namespaces", "secrets"} {
		out = append(out, apisv1alpha2.PermissionClaim{GroupResource: apisv1alpha2.GroupResource{Resource: r}, Verbs: []string{"*"}})
	}
	return out
}

func (s *shop) tenant(t *testing.T) tenant {
	t.Helper()
	_, cfg := workspaces.Workspace(t)
	kcp.AwaitBound(t, cfg, kcp.Bind(t, cfg, s.path, exportName, claims()...))
	c := kcp.Client(t, cfg)
	ns := &corev1.Namespace{}
	if err := c.Get(t.Context(), types.NamespacedName{Name: metav1.NamespaceDefault}, ns); err != nil {
		t.Fatal(err)
	}
	return tenant{Client: c, cfg: cfg, cluster: ns.Annotations["kcp.io/cluster"]}
}

// publishCerts publishes Certs, whose field secretName names a Secret of the service cluster.
func (s *shop) publishCerts(t *testing.T) *v1alpha1.PublishedResource {
	t.Helper()
	define(t, s.c, definition(s.group, "certs", "secretName"))
	o := s.published("certs", "Cert")
	o.Spec.StateNamespace = local.Namespace(t)
	o.Spec.Related = []v1alpha1.RelatedResource{{
		Identifier: "tls", Origin: v1alpha1.OriginService, Kind: "Secret", Cleanup: true,
		Object: &v1alpha1.RelatedResourceObject{RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{
			Reference: &v1alpha1.FieldReference{Path: "spec.secretName"},
		}},
	}}
	create(t, s.c, o)
	awaitPublished(t, s.c, o)
	return o
}

func (s *shop) cert(name string) *unstructured.Unstructured {
	u := s.object("Cert", name)
	u.Object["spec"] = map[string]any{"size": "L", "secretName": name + "-tls"}
	return u
}

// patch changes an object by a JSON merge patch.
func patch(t *testing.T, c client.Client, u client.Object, body string) {
	t.Helper()
	if err := c.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		t.Fatal(err)
	}
}

// copyOf waits for the one copy of a tenant's Cert.
func (s *shop) copyOf(t *testing.T, in tenant) *unstructured.Unstructured {
	t.Helper()
	var copied *unstructured.Unstructured
	kube.Eventually(t, synced, "one copy of workspace "+in.cluster, func() (bool, string) {
		all := s.copies(t, in)
		if len(all) == 1 {
			copied = &all[0]
		}
		return len(all) == 1, describeAll(all)
	})
	return copied
}

func describeAll(all []unstructured.Unstructured) string {
	var names []string
	for _, u := range all {
		names = append(names, u.GetNamespace()+"/"+u.GetName())
	}
	return strings.Join(names, " ")
}

func (s *shop) copies(t *testing.T, in tenant) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(s.group + "/v1")
	list.SetKind("CertList")
	if err := s.c.List(t.Context(), list, client.MatchingLabels{objectsync.LabelCluster: in.cluster}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// issue does what an operator of the service cluster does.
func (s *shop) issue(t *testing.T, copied *unstructured.Unstructured, value string) {
	t.Helper()
	name, _, _ := unstructured.NestedString(copied.Object, "spec", "secretName")
	create(t, s.c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: copied.GetNamespace(), Name: name}, Data: map[string][]byte{"key": []byte(value)}})
	if err := s.c.Status().Patch(t.Context(), copied, client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Issued"}}`))); err != nil {
		t.Fatal(err)
	}
}

// awaitIssued waits until a Cert of a tenant has its status and Secret.
func awaitIssued(t *testing.T, in tenant, u *unstructured.Unstructured, value string) {
	t.Helper()
	kube.Eventually(t, synced, "status and Secret of "+u.GetName()+" in workspace "+in.cluster, func() (bool, string) {
		secret := &corev1.Secret{}
		if err := in.Get(t.Context(), types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName() + "-tls"}, secret); err != nil {
			return false, err.Error()
		}
		if err := in.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return false, err.Error()
		}
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		return phase == "Issued" && string(secret.Data["key"]) == value, "phase " + phase
	})
}

func awaitDeleted(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	kube.Eventually(t, synced, o.GetName()+" to be gone", func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), "it is there"
	})
}

// TestSync follows objects of the same name in two workspaces through their whole lives.
func TestSync(t *testing.T) {
	s := openShop(t)
	o := s.publishCerts(t)
	tenants := []tenant{s.tenant(t), s.tenant(t)}
	for i, in := range tenants {
		create(t, in, s.cert("web"))
		s.issue(t, s.copyOf(t, in), string(rune('a'+i)))
	}
	for i, in := range tenants {
		web := s.cert("web")
		awaitIssued(t, in, web, string(rune('a'+i)))
		patch(t, in, web, `{"spec":{"size":"XL"}}`)
		kube.Eventually(t, synced, "the new size below", func() (bool, string) {
			size, _, _ := unstructured.NestedString(s.copyOf(t, in).Object, "spec", "size")
			return size == "XL", size
		})
		kube.Eventually(t, synced, "events for the consumer", func() (bool, string) {
			list := &corev1.EventList{}
			if err := in.List(t.Context(), list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
				return false, err.Error()
			}
			missing := map[string]bool{
				objectsync.ReasonAccepted: true, objectsync.ReasonPlaced: true, objectsync.ReasonSynced: true, objectsync.ReasonStatusSynced: true,
			}
			for _, e := range list.Items {
				delete(missing, e.Reason)
			}
			return len(missing) == 0, cmp.Diff(map[string]bool{}, missing)
		})
	}
	kube.Eventually(t, synced, "two objects in the status", func() (bool, string) {
		if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		diff := cmp.Diff(&v1alpha1.ObjectCounts{Synced: 2}, o.Status.Objects)
		return diff == "", diff
	})
	for _, in := range tenants {
		copied, web := s.copyOf(t, in), s.cert("web")
		if err := in.Delete(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		awaitDeleted(t, in, web)
		awaitDeleted(t, s.c, copied)
		awaitDeleted(t, in, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web-tls"}})
		if in.cluster == tenants[0].cluster {
			awaitIssued(t, tenants[1], s.cert("web"), "b") // The other's is not touched.
		}
	}
	states := &corev1.SecretList{}
	if err := s.c.List(t.Context(), states, client.InNamespace(o.Spec.StateNamespace)); err != nil || len(states.Items) != 0 {
		t.Errorf("states left: %d, %v", len(states.Items), err)
	}
}

// TestSyncFollowsSpec shows that a change of the spec takes effect on objects that are there, that an object outside the filter is let go,
// and that synchronization that is turned off stops. Weakness W1 and W8.
func TestSyncFollowsSpec(t *testing.T) {
	s := openShop(t)
	o := s.publishCerts(t)
	in := s.tenant(t)
	create(t, in, s.cert("web"))
	s.copyOf(t, in)
	patch(t, s.c, o, `{"spec":{"filter":{"resource":{"matchLabels":{"go":"yes"}}}}}`)
	kube.Eventually(t, synced, "no copy of what the filter leaves out", func() (bool, string) {
		all := s.copies(t, in)
		return len(all) == 0, describeAll(all)
	})
	web := s.cert("web")
	kube.Eventually(t, synced, "the object without finalizer", func() (bool, string) {
		if err := in.Get(t.Context(), client.ObjectKeyFromObject(web), web); err != nil {
			return false, err.Error()
		}
		return len(web.GetFinalizers()) == 0, strings.Join(web.GetFinalizers(), " ")
	})
	patch(t, in, web, `{"metadata":{"labels":{"go":"yes"}}}`)
	s.copyOf(t, in)
	patch(t, s.c, o, `{"spec":{"synchronization":{"enabled":false}}}`)
	kube.Eventually(t, synced, "no counts", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return err == nil && o.Status.Objects == nil, "there are some"
	})
	create(t, in, s.cert("late"))
	patch(t, s.c, o, `{"spec":{"synchronization":{"enabled":true}}}`)
	kube.Eventually(t, synced, "the counts again", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return err == nil && o.Status.Objects != nil && o.Status.Objects.Synced == 2, describe(o)
	})
	if all := s.copies(t, in); len(all) != 1 {
		t.Errorf("want the one copy that the filter lets through, got %s", describeAll(all))
	}
}

// TestSyncRefusesForeign shows that two tenants whose objects would have one copy do not share it, and that the second is told why, and the
// owner where. Weakness W3.
func TestSyncRefusesForeign(t *testing.T) {
	s := openShop(t)
	define(t, s.c, definition(s.group, "certs", "secretName"))
	o := s.published("certs", "Cert")
	o.Spec.StateNamespace = local.Namespace(t)
	o.Spec.Naming = &v1alpha1.ResourceNaming{Namespace: o.Spec.StateNamespace, Name: "{{ .Object.metadata.name }}"}
	create(t, s.c, o)
	awaitPublished(t, s.c, o)
	first, second := s.tenant(t), s.tenant(t)
	create(t, first, s.cert("web"))
	s.copyOf(t, first)
	create(t, second, s.cert("web"))
	kube.Eventually(t, synced, "a warning", func() (bool, string) {
		list := &corev1.EventList{}
		if err := second.List(t.Context(), list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return false, err.Error()
		}
		for _, e := range list.Items {
			if e.Reason == objectsync.ReasonNameTaken && e.Type == corev1.EventTypeWarning && !strings.Contains(e.Message, o.Spec.StateNamespace) {
				return true, ""
			}
		}
		return false, "no such event"
	})
	kube.Eventually(t, synced, "the failure in the status", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		c := o.Status.Objects
		return err == nil && c != nil && c.Synced == 1 && c.Failed == 1 && len(c.Failures) == 1 && c.Failures[0].Object == "default/web", describe(o)
	})
	if got := s.copyOf(t, first).GetLabels()[objectsync.LabelCluster]; got != first.cluster {
		t.Errorf("the copy is of %s now", got)
	}
	if all := s.copies(t, second); len(all) != 0 {
		t.Errorf("the second has copies: %s", describeAll(all))
	}
}
