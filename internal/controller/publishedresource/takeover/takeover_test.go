// Package takeover_test shows that the provider goes on where api-syncagent was stopped: with its objects, its names,
// its finalizers and what it remembers.
package takeover_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	// each of two tenants has this many objects.
	objectsEach = 100
	// user and agentUser are whom the provider is on the service cluster and in kcp.
	user      = "provider"
	agentUser = "system:serviceaccount:default:agent"
)

var (
	service    kube.Server
	workspaces = kcp.Server{Audited: true}
	namespaces = []string{metav1.NamespaceDefault, "team"} // of each tenant
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &service, &workspaces)) }

// A tenant is a workspace that has bound the API.
type tenant struct {
	client.Client

	cluster string
}

// A world is what the agent leaves.
type world struct {
	agent

	tenants []tenant
	all     []cert
}

// newWorld makes it, with a PublishedResource that nobody serves yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	service.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	ns := service.Namespace(t)
	s := &world{agent: agent{c: service.Client(t, apis.AddToScheme), group: ns + ".example.com", state: ns}}
	s.path, s.admin = workspaces.Workspace(t)
	s.publish(t)
	for range 2 {
		s.tenants = append(s.tenants, s.tenant(t))
	}
	spec := build.FromSecret(ns, "kcp")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{EndpointSlice: exportName}}
	o := fromYAML(t, publishedResource, s.group, ns)
	account := kcp.ServiceAccount(t, s.admin, "agent", kcp.AgentRules(exportName)...)
	kube.Create(t, s.c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, account)),
		build.ClusterConfig("default", spec), o)
	return s
}

// tenant makes a workspace that has bound the API and accepted all claims.
func (s *world) tenant(t *testing.T) tenant {
	t.Helper()
	_, cfg := workspaces.Workspace(t)
	claims := kcp.Claims("configmaps", "events", "namespaces", "secrets")
	kcp.AwaitBound(t, cfg, kcp.Bind(t, cfg, s.path, exportName, claims...))
	in := tenant{Client: kcp.Client(t, cfg)}
	ns := &corev1.Namespace{}
	kube.Get(t, in, types.NamespacedName{Name: metav1.NamespaceDefault}, ns)
	in.cluster = ns.Annotations["kcp.io/cluster"]
	kube.Create(t, in, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaces[1]}})
	kube.Create(t, s.c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in.cluster}})
	kube.Eventually(t, "Certs in workspace "+in.cluster, func() (bool, string) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(object(s.group+"/v1", "CertList", "", "").GroupVersionKind())
		err := in.List(t.Context(), list)
		return err == nil, fmt.Sprint(err)
	})
	return in
}

// cert returns an object of a tenant. The copies of some are named as the PublishedResource says, and others as it has
// said before.
func (s *world) cert(in tenant, name string) cert {
	o := cert{in: in, name: name, namespace: namespaces[len(name)%2]}
	if o.copied = "cert-" + hash(o.namespace)[:20] + "-" + hash(name)[:20]; strings.HasSuffix(name, "1") {
		o.copied = "older-" + name
	}
	return o
}

// serve runs the provider, and waits until all objects are synced and all states complete.
func (s *world) serve(t *testing.T) {
	t.Helper()
	provider.Start(t, service.User(t, user, "system:masters"))
	o := &v1alpha1.PublishedResource{ObjectMeta: metav1.ObjectMeta{Name: "publish-certs"}}
	want := &v1alpha1.ObjectCounts{Synced: 2 * objectsEach}
	kube.Await(t, s.c, o, "all objects to be synced", func() (bool, string) {
		diff := cmp.Diff(want, o.Status.Objects)
		return diff == "", fmt.Sprintf("%s\n%+v", diff, o.Status)
	})
	kube.Eventually(t, "the last write, which completes a state", func() (bool, string) {
		complete := 0
		for _, state := range s.states(t) {
			if len(state.Data["related"]) > 0 && len(state.Data["copy"]) > 0 {
				complete++
			}
		}
		return complete == 2*objectsEach, strconv.Itoa(complete)
	})
}

// changing returns the requests of one user that have changed something of a tenant, but for events.
func changing(a kube.Audit, since kube.Mark, user string, in tenant) kube.Requests {
	return slices.DeleteFunc(a.Since(since).By(user), func(e local.AuditEvent) bool {
		return slices.Contains([]string{"get", "list"}, e.Verb) || e.Resource == "events" ||
			!strings.Contains(e.URI, in.cluster)
	})
}

// TestTakeover shows that 200 objects with their related objects are taken over as they are, on both sides, that states
// only get what the agent has not remembered, and that from then on changes pass.
func TestTakeover(t *testing.T) {
	s := newWorld(t)
	for i := range 2 * objectsEach {
		s.all = append(s.all, s.cert(s.tenants[i%2], fmt.Sprintf("cert-%d", i)))
	}
	kube.AtOnce(s.all, func(o cert) { s.sync(t, o) })
	if t.Failed() {
		t.FailNow()
	}
	states := s.states(t)
	below, above := service.Audit(t), kube.AuditOf(t, workspaces.AuditLog())
	belowMark, aboveMark := below.Mark(), above.Mark()
	s.serve(t)
	for _, in := range s.tenants {
		want := map[string]int{"patch secrets": objectsEach, "patch namespaces": 1}
		if got := changing(below, belowMark, user, in); cmp.Diff(want, got.Count()) != "" {
			t.Errorf("want each state of %s patched once, and its namespace, got writes:\n%s", in.cluster, got)
		}
		if got := changing(above, aboveMark, agentUser, in); len(got) > 0 {
			t.Errorf("writes to workspace %s:\n%s", in.cluster, got)
		}
	}
	s.compareStates(t, states)
	t.Run("Flow", s.flow)
	t.Run("End", s.end)
}

// states returns the states of all tenants, by their names.
func (s *world) states(t *testing.T) map[string]corev1.Secret {
	t.Helper()
	list := &corev1.SecretList{}
	kube.List(t, s.c, list, client.InNamespace(s.state), client.MatchingLabels{domain + "object-state": "true"})
	out := map[string]corev1.Secret{}
	for _, o := range list.Items {
		out[o.Name] = o
	}
	return out
}

// compareStates fails unless all that the agent has remembered is still there, with a list of related objects, where
// the copy is, whose it is, and nothing else.
func (s *world) compareStates(t *testing.T, before map[string]corev1.Secret) {
	t.Helper()
	after := s.states(t)
	if len(after) != 2*objectsEach {
		t.Errorf("want a state for each object, got %d", len(after))
	}
	for name, is := range after {
		for _, key := range []string{"related", "copy"} {
			if len(is.Data[key]) == 0 {
				t.Errorf("state %s: no %s", name, key)
			}
			delete(is.Data, key)
		}
		if got := is.Labels[domain+"agent-name"]; got != agentName {
			t.Errorf("state %s: want it to say whose it is, got %q", name, got)
		}
		delete(is.Labels, domain+"agent-name")
		was := before[name]
		if diff := cmp.Diff(was.Data, is.Data) + cmp.Diff(was.UID, is.UID) + cmp.Diff(was.Labels,
			is.Labels); diff != "" {
			t.Errorf("state %s: -before, +after:\n%s", name, diff)
		}
	}
}

// flow changes objects of both sides that were taken over.
func (s *world) flow(t *testing.T) {
	for _, o := range s.all[:4] {
		above, below := o.above(s.group), o.below(s.group)
		kube.Patch(t, o.in, above, `{"spec":{"size":"XL"},"metadata":{"labels":{"app":null}}}`)
		await(t, s.c, below, "the change", func() bool {
			_, labelled := below.GetLabels()["app"]
			return field(below, "spec", "size") == "XL" && !labelled
		})
		if set, name := field(below, "spec", "defaulted"), field(below, "spec", "secretName"); set != "by a webhook" ||
			name != o.name+"-issued" {
			t.Errorf("what others have set of the copy: got %q and %q", set, name)
		}
		kube.PatchStatus(t, s.c, below, `{"status":{"phase":"Renewed"}}`)
		await(t, o.in, above, "the status", func() bool { return field(above, "status", "phase") == "Renewed" })

		kube.Patch(t, s.c, o.secret(o.in.cluster, o.name+"-issued"), `{"data":{"tls.crt":"bmV3"}}`)
		issued := object("v1", "Secret", o.namespace, o.name)
		await(t, o.in, issued, "the new certificate", func() bool { return field(issued, "data", "tls.crt") == "bmV3" })
		kube.Patch(t, o.in, o.settings(o.namespace), `{"data":{"for":"something else"}}`)
		settings := object("v1", "ConfigMap", o.in.cluster, o.settingsName())
		await(t, s.c, settings, "the change", func() bool { return field(settings, "data", "for") == "something else" })
	}
}

// end deletes objects that were taken over, and waits until nothing is left of them but what others have made.
func (s *world) end(t *testing.T) {
	for _, o := range s.all[:4] {
		state := object("v1", "Secret", s.state, s.stateOf(t, o).Name)
		kube.Remove(t, o.in, o.above(s.group))
		kube.AwaitGone(t, s.c, o.below(s.group), object("v1", "ConfigMap", o.in.cluster, o.settingsName()), state)
		kube.AwaitGone(t, o.in, object("v1", "Secret", o.namespace, o.name))
		settings := object("v1", "ConfigMap", o.namespace, o.settingsName())
		await(t, o.in, settings, "no finalizer", func() bool { return len(settings.GetFinalizers()) == 0 })
		issued := object("v1", "Secret", o.in.cluster, o.name+"-issued")
		kube.Get(t, s.c, client.ObjectKeyFromObject(issued), issued)
	}
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// await waits until an object is as wanted.
func await(t *testing.T, c client.Client, u *unstructured.Unstructured, what string, is func() bool) {
	t.Helper()
	kube.Await(t, c, u, what+" of "+u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName(), func() (bool, string) {
		return is(), fmt.Sprint(u.Object)
	})
}

// field returns a text, such as a value of a Secret in base64.
func field(u *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// fromYAML returns an object of a template.
func fromYAML(t *testing.T, text string, values ...any) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, text, values...), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}
