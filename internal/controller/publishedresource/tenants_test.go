package publishedresource_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
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

// consumer makes a workspace that binds an APIExport and accepts some claims.
func (s *shop) consumer(t *testing.T, export string, accepted ...apisv1alpha2.PermissionClaim) tenant {
	t.Helper()
	in := newTenant(t)
	kcp.AwaitBound(t, in.cfg, kcp.Bind(t, in.cfg, s.path, export, accepted...))
	return in
}

// newTenant makes a workspace that has bound nothing yet.
func newTenant(t *testing.T) tenant {
	t.Helper()
	path, cfg := workspaces.Workspace(t)
	c, ns := kcp.Client(t, cfg), &corev1.Namespace{}
	kube.Get(t, c, types.NamespacedName{Name: metav1.NamespaceDefault}, ns)
	return tenant{Client: c, cfg: cfg, path: path, cluster: ns.Annotations["kcp.io/cluster"]}
}

// tenant makes a consumer of Certs, who accepts all claims.
func (s *shop) tenant(t *testing.T) tenant {
	t.Helper()
	in := s.consumer(t, exportName, claims()...)
	kube.Eventually(t, "the API in workspace "+in.path, func() (bool, string) {
		err := in.List(t.Context(), s.list())
		return err == nil || !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	return in
}

// unbind deletes the APIBinding of a tenant, and waits until it is gone.
func unbind(t *testing.T, in tenant) {
	t.Helper()
	b := &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}}
	kube.Remove(t, in, b)
}

// publishCerts publishes Certs: their field secretName names a Secret of the service cluster, and keyName one of the
// workspace. What is asked for can be changed.
func (s *shop) publishCerts(t *testing.T, change ...func(*v1alpha1.PublishedResource)) *v1alpha1.PublishedResource {
	t.Helper()
	kube.Create(t, s.c, definition(s.group, "certs", "secretName", "keyName", "note"))
	return s.offer(t, s.publishedCerts(local.Namespace(t)), change...)
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

// byField finds related objects by a field.
func byField(path v1alpha1.MutationPath) *v1alpha1.RelatedResourceObject {
	return &v1alpha1.RelatedResourceObject{
		RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{Reference: &v1alpha1.FieldReference{Path: path}},
	}
}

func (s *shop) cert(name string) *unstructured.Unstructured {
	u := s.object("Cert", name)
	u.Object["spec"] = map[string]any{"size": "L", "secretName": name + "-tls"}
	return u
}

// naming returns a Cert that names a Secret of its workspace.
func (s *shop) naming(name, key string) *unstructured.Unstructured {
	u := s.cert(name)
	u.Object["spec"].(map[string]any)["keyName"] = key
	return u
}

// list returns a list of Certs, in the version of the shop.
func (s *shop) list() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(s.group + "/" + cmp.Or(s.version, "v1"))
	list.SetKind("CertList")
	return list
}

func (s *shop) copies(t *testing.T, in tenant) []unstructured.Unstructured {
	t.Helper()
	list := s.list()
	kube.List(t, s.c, list, client.MatchingLabels{objectsync.LabelCluster: in.cluster})
	return list.Items
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

func describeAll(all []unstructured.Unstructured) string {
	var names []string
	for _, u := range all {
		names = append(names, u.GetNamespace()+"/"+u.GetName())
	}
	return strings.Join(names, " ")
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

// otherTurn publishes another API, and returns what has an object of it synced: what could be synced of others by then
// has been.
func otherTurn(t *testing.T) func() {
	t.Helper()
	other := openShop(t)
	other.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.Related = nil })
	in := other.tenant(t)
	return func() { other.turn(t, in) }
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

// awaitCounts waits until a PublishedResource counts as many objects that are synced and that are not.
func awaitCounts(t *testing.T, c client.Client, o *v1alpha1.PublishedResource, synced, failed int64) {
	t.Helper()
	awaitObjects(t, c, o, func(c *v1alpha1.ObjectCounts) bool { return c.Synced == synced && c.Failed == failed })
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

// awaitNoCounts waits until no objects are counted, as none are synced.
func (s *shop) awaitNoCounts(t *testing.T, o *v1alpha1.PublishedResource) {
	t.Helper()
	kube.Await(t, s.c, o, "no counts", func() (bool, string) {
		return o.Status.Objects == nil, "there are some"
	})
}

func finalizersOf(t *testing.T, in tenant, o client.Object) []string {
	t.Helper()
	kube.Get(t, in, client.ObjectKeyFromObject(o), o)
	return o.GetFinalizers()
}

// refusal is what a server says that refuses something.
const refusal = "not in this house"

// refuse has a server refuse what a policy does not allow, which takes it a moment, until the binding that is returned
// is deleted.
func refuse(t *testing.T, c client.Client, name string,
	spec admissionv1.ValidatingAdmissionPolicySpec,
) *admissionv1.ValidatingAdmissionPolicyBinding {
	t.Helper()
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding.Spec.PolicyName = name
	binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Deny}
	kube.Create(t, c, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec},
		binding)
	return binding
}

// matching returns what a policy looks at.
func matching(group, resource string, verbs ...admissionv1.OperationType) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: verbs,
			Rule: admissionv1.Rule{
				APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource},
			},
		},
	}}}
}

// isRefused reports whether a request was refused by a policy of ours, and how it went.
func isRefused(err error) (refused bool, state string) {
	return err != nil && strings.Contains(err.Error(), refusal), fmt.Sprint(err)
}
