package publishedresource_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
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
	path    string
	cluster string
}

// claims are those that the synchronization of Secrets needs.
func claims() []apisv1alpha2.PermissionClaim {
	return kcp.Claims("events", "namespaces", "secrets")
}

// consumer makes a workspace that binds the APIExport and accepts all claims.
func (s *shop) consumer(t *testing.T) (path string, cfg *rest.Config) {
	t.Helper()
	path, cfg = workspaces.Workspace(t)
	kcp.AwaitBound(t, cfg, kcp.Bind(t, cfg, s.path, exportName, claims()...))
	return path, cfg
}

// binder makes a workspace that binds the APIExport and accepts no claim.
func (s *shop) binder(t *testing.T) *rest.Config {
	t.Helper()
	_, cfg := workspaces.Workspace(t)
	kcp.AwaitBound(t, cfg, kcp.Bind(t, cfg, s.path, exportName))
	return cfg
}

func (s *shop) tenant(t *testing.T) tenant {
	t.Helper()
	path, cfg := s.consumer(t)
	c := kcp.Client(t, cfg)
	ns := &corev1.Namespace{}
	kube.Get(t, c, types.NamespacedName{Name: metav1.NamespaceDefault}, ns)
	kube.Eventually(t, "the API in workspace "+path, func() (bool, string) {
		err := c.List(t.Context(), s.list())
		return err == nil || !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	return tenant{Client: c, cfg: cfg, path: path, cluster: ns.Annotations["kcp.io/cluster"]}
}

// publishCerts publishes Certs: their field secretName names a Secret of the service cluster, and keyName one of the
// workspace. What is asked for can be changed.
func (s *shop) publishCerts(t *testing.T, change ...func(*v1alpha1.PublishedResource)) *v1alpha1.PublishedResource {
	t.Helper()
	kube.Create(t, s.c, definition(s.group, "certs", "secretName", "keyName", "note"))
	o := s.publishedCerts(local.Namespace(t))
	for _, f := range change {
		f(o)
	}
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	return o
}

// publishedCerts returns a PublishedResource of Certs, with states in a namespace.
func (s *shop) publishedCerts(states string) *v1alpha1.PublishedResource {
	o := s.published("certs", "Cert")
	o.Spec.StateNamespace = states
	o.Spec.Related = []v1alpha1.RelatedResource{
		{
			Identifier: "tls", Origin: v1alpha1.OriginService, Kind: "Secret", Cleanup: true,
			Object: byField("spec.secretName"),
		},
		{Identifier: "key", Origin: v1alpha1.OriginKCP, Kind: "Secret", Object: byField("spec.keyName")},
	}
	return o
}

func (s *shop) cert(name string) *unstructured.Unstructured {
	u := s.object("Cert", name)
	u.Object["spec"] = map[string]any{"size": "L", "secretName": name + "-tls"}
	return u
}

// copyOf waits for the one copy of a tenant's Cert.
func (s *shop) copyOf(t *testing.T, in tenant) *unstructured.Unstructured {
	t.Helper()
	var copied *unstructured.Unstructured
	kube.Eventually(t, "one copy of workspace "+in.cluster, func() (bool, string) {
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
	list := s.list()
	kube.List(t, s.c, list, client.MatchingLabels{objectsync.LabelCluster: in.cluster})
	return list.Items
}

// issue does what an operator of the service cluster does.
func (s *shop) issue(t *testing.T, copied *unstructured.Unstructured, value string) {
	t.Helper()
	name, _, _ := unstructured.NestedString(copied.Object, "spec", "secretName")
	kube.Create(t, s.c, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: copied.GetNamespace(), Name: name},
		Data:       map[string][]byte{"key": []byte(value)},
	})
	patchStatus(t, s.c, copied, "Issued")
}

// patchStatus sets the phase of a Cert.
func patchStatus(t *testing.T, c client.Client, u *unstructured.Unstructured, phase string) {
	t.Helper()
	kube.PatchStatus(t, c, u, `{"status":{"phase":"`+phase+`"}}`)
}

// awaitIssued waits until a Cert of a tenant has its status and Secret.
func awaitIssued(t *testing.T, in tenant, u *unstructured.Unstructured, value string) {
	t.Helper()
	kube.Eventually(t, "status and Secret of "+u.GetName()+" in workspace "+in.cluster, func() (bool, string) {
		secret := &corev1.Secret{}
		if err := in.Get(t.Context(), types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName() + "-tls"},
			secret); err != nil {
			return false, err.Error()
		}
		if err := in.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return false, err.Error()
		}
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		return phase == "Issued" && string(secret.Data["key"]) == value, "phase " + phase
	})
}

// turn has one more object of a tenant go down and away, so that all that waited before it has had its turn.
func (s *shop) turn(t *testing.T, in tenant) {
	t.Helper()
	o := s.cert("turn")
	kube.Create(t, in, o)
	s.copyNamed(t, in, o.GetName())
	kube.Remove(t, in, o)
}

// byField finds related objects by a field.
func byField(path v1alpha1.MutationPath) *v1alpha1.RelatedResourceObject {
	return &v1alpha1.RelatedResourceObject{
		RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{Reference: &v1alpha1.FieldReference{Path: path}},
	}
}

// secretIn returns a Secret with one value.
func secretIn(namespace, name, value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"key": []byte(value)},
	}
}

// awaitValue waits until a Secret has a value.
func awaitValue(t *testing.T, c client.Client, namespace, name, want string) {
	t.Helper()
	kube.Eventually(t, "Secret "+namespace+"/"+name+" to have value "+want, func() (bool, string) {
		got := &corev1.Secret{}
		err := c.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, got)
		return err == nil && string(got.Data["key"]) == want, string(got.Data["key"])
	})
}

// awaitEvent waits until a tenant sees an event about its objects, and returns it.
func awaitEvent(t *testing.T, in tenant, reason string) (found corev1.Event) {
	t.Helper()
	kube.Eventually(t, "event "+reason, func() (bool, string) {
		list := &corev1.EventList{}
		if err := in.List(t.Context(), list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return false, err.Error()
		}
		var seen []string
		for _, e := range list.Items {
			if e.Reason == reason {
				found = e
				return true, ""
			}
			seen = append(seen, e.Reason+": "+e.Message)
		}
		return false, strings.Join(seen, "; ")
	})
	return found
}

// awaitObjects waits until the status of a PublishedResource counts objects as wanted.
func awaitObjects(t *testing.T, c client.Client, o *v1alpha1.PublishedResource,
	want func(*v1alpha1.ObjectCounts) bool,
) {
	t.Helper()
	kube.Await(t, c, o, "the counts in the status", func() (bool, string) {
		got := o.Status.Objects
		return got != nil && want(got), fmt.Sprintf("%+v %s", got, describe(o))
	})
}

// object returns an object of a kind of the shop, in its version.
func (s *shop) object(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": "L"}}}
	u.SetAPIVersion(s.group + "/" + cmp.Or(s.version, "v1"))
	u.SetKind(kind)
	u.SetNamespace(metav1.NamespaceDefault)
	u.SetName(name)
	return u
}

// list returns a list of Certs, in the version of the shop.
func (s *shop) list() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(s.group + "/" + cmp.Or(s.version, "v1"))
	list.SetKind("CertList")
	return list
}
