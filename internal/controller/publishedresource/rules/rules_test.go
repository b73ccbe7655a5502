// Package rules_test shows rules of PublishedResources that only a real kcp and the whole controller can prove.
package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	exportName = "services.example.com"
	otherName  = "billing.example.com" // the APIExport of another owner
	namespace  = "my-app"              // of the consumer
)

var (
	service, shared kube.Server // one that one provider serves, and one that several share
	workspaces      kcp.Server
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &service, &shared, &workspaces)) }

// A world is a service cluster, two workspaces with an APIExport each, and a consumer's workspace that has bound both.
type world struct {
	server       *kube.Server
	c, in, other client.Client
	admin        *rest.Config // of the first of the two workspaces
	binding      *apisv1alpha2.APIBinding
	cluster      string // of the consumer
}

func newWorld(t *testing.T, server *kube.Server) *world {
	t.Helper()
	return newWorldOf(t, server, "default", "billing")
}

// newWorldOf is newWorld with the names of the ProviderConfigs that lead to the two APIExports.
func newWorldOf(t *testing.T, server *kube.Server, services, billing string) *world {
	t.Helper()
	server.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"), "testdata")
	s := &world{server: server, c: server.Client(t, apis.AddToScheme)}
	path, admin := workspaces.Workspace(t)
	otherPath, otherAdmin := workspaces.Workspace(t)
	s.admin, s.other = admin, kcp.Client(t, otherAdmin)
	s.offer(t, admin, services, exportName)
	s.offer(t, otherAdmin, billing, otherName)
	_, consumer := workspaces.Workspace(t)
	claims := kcp.Claims("events", "namespaces")
	s.binding = kcp.Bind(t, consumer, path, exportName, claims...)
	kcp.Bind(t, consumer, otherPath, otherName, claims[0])
	s.in = kcp.Client(t, consumer)
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	kube.Create(t, s.in, created)
	s.cluster = created.Annotations["kcp.io/cluster"]
	return s
}

// offer makes an APIExport, and the ProviderConfig that leads to it.
func (s *world) offer(t *testing.T, admin *rest.Config, config, export string) {
	t.Helper()
	kube.Create(t, kcp.Client(t, admin), kcp.Export(export))
	s.lead(t, admin, config, export)
}

// lead makes a ProviderConfig that leads to an APIExport.
func (s *world) lead(t *testing.T, admin *rest.Config, config, export string) {
	t.Helper()
	ns := s.server.Namespace(t)
	account := kcp.ServiceAccount(t, admin, "agent-"+config, kcp.AgentRules(export)...)
	spec := build.FromSecret(ns, "kcp")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: export}}
	kube.Create(t, s.c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, account)),
		build.ClusterConfig(config, spec))
}

// appear creates an object as soon as its API is served.
func appear(t *testing.T, c client.Client, o *unstructured.Unstructured) {
	t.Helper()
	kube.Eventually(t, "creation of "+o.GetKind(), func() (bool, string) {
		err := c.Create(t.Context(), o.DeepCopy())
		return err == nil || apierrors.IsAlreadyExists(err), fmt.Sprint(err)
	})
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"size": int64(3), "part": "p", "plan": "gold",
	}}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// publish creates a PublishedResource and returns what deletes it.
func (s *world) publish(t *testing.T, name, spec string) (remove func()) {
	t.Helper()
	u := s.describe(t, name, spec)
	s.awaitReady(t, u)
	return func() { kube.Remove(t, s.c, u) }
}

// describe creates a PublishedResource, with labels if there are some.
func (s *world) describe(t *testing.T, name, spec string, labels ...string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	content := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	u.Object["spec"] = content
	u.SetGroupVersionKind(v1alpha1.PublishedResourceGroupVersionKind)
	u.SetName(name)
	for _, team := range labels {
		u.SetLabels(map[string]string{labelTeam: team})
	}
	kube.Create(t, s.c, u)
	return u
}

func (s *world) awaitReady(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	kube.Eventually(t, "the API to be served", func() (bool, string) {
		o := &v1alpha1.PublishedResource{}
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(u), o)
		return err == nil && o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue &&
			o.GetCondition(xpv2.TypeSynced).ObservedGeneration == o.GetGeneration(), fmt.Sprintf("%v %+v", err, o.Status)
	})
}

// awaitObject waits for an object.
func (s *world) awaitObject(t *testing.T, c client.Client, o *unstructured.Unstructured) {
	t.Helper()
	kube.Eventually(t, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName(), func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return err == nil, fmt.Sprint(err)
	})
}

// A rule is a PublishedResource of Gadgets and what it does.
type rule struct {
	reason, spec string
	// kind is that of the consumer's object, Gadget if it is empty. It has no namespace if unnamespaced says so.
	kind         string
	unnamespaced bool
	// copied is the namespace and name of the copy, or the beginning of them.
	copied string
	// others are PublishedResources that are there before, aside are objects of the consumer that are, and after looks
	// at more than the copy.
	others []string
	aside  []*unstructured.Unstructured
	after  func(t *testing.T)
}

const gadgets = "resource: {apiGroup: rules.example.org, kind: Gadget}\n"

func (s *world) rules() map[string]rule {
	return map[string]rule{
		"Scope": {
			reason: "Consumers may have no namespaces for it.",
			spec:   gadgets + "projection: {kind: Wide, plural: wides, scope: Cluster}",
			kind:   "Wide", unnamespaced: true, copied: s.cluster + "/",
		},
		"Identity": {
			reason: "Related objects may be of an API that another APIExport offers.",
			spec: gadgets + `related: [{identifier: plan, origin: kcp, group: billing.example.org, version: v1, ` +
				`resource: plans, identityHash: IDENTITY,
				object: {reference: {path: spec.plan}}}]`,
			others: []string{"providerConfigRef: {name: billing}\nresource: {apiGroup: billing.example.org, kind: Plan}\n" +
				"synchronization: {enabled: false}"},
			aside:  []*unstructured.Unstructured{object("billing.example.org/v1", "Plan", namespace, "gold")},
			copied: s.cluster + "/",
			after: func(t *testing.T) {
				t.Helper()
				s.awaitObject(t, s.c, object("billing.example.org/v1", "Plan", s.cluster, "gold"))
			},
		},
		"RelatedProjection": {
			reason: "Related objects may be of another kind in kcp.",
			spec: gadgets + `related: [{identifier: part, origin: service, group: rules.example.org, version: v1, ` +
				`resource: parts,
				projection: {group: pieces.example.com, version: v1beta1, resource: pieces}, ` +
				`cleanup: true, object: {reference: {path: spec.part}}}]`,
			copied: s.cluster + "/",
			others: []string{"resource: {apiGroup: rules.example.org, kind: Part}\nsynchronization: {enabled: false}\n" +
				"projection: {group: pieces.example.com, kind: Piece, plural: pieces, versions: {v1: v1beta1}}"},
			after: func(t *testing.T) {
				t.Helper()
				kube.Create(t, s.c, object("rules.example.org/v1", "Part", s.cluster, "p"))
				s.awaitObject(t, s.in, object("pieces.example.com/v1beta1", "Piece", namespace, "p"))
			},
		},
		"RelatedProjectionOfConsumer": {
			reason: "Related objects of consumers are named as they are in kcp, " +
				"and projected to what they are on the service cluster.",
			spec: gadgets + `related: [{identifier: slice, origin: kcp, group: slices.example.com, version: v1beta1, ` +
				`resource: slices,
				projection: {group: rules.example.org, version: v1, resource: parts}, object: {reference: {path: spec.part}}}]`,
			copied: s.cluster + "/",
			others: []string{"resource: {apiGroup: rules.example.org, kind: Part}\nsynchronization: {enabled: false}\n" +
				"projection: {group: slices.example.com, kind: Slice, plural: slices, versions: {v1: v1beta1}}"},
			aside: []*unstructured.Unstructured{object("slices.example.com/v1beta1", "Slice", namespace, "p")},
			after: func(t *testing.T) {
				t.Helper()
				s.awaitObject(t, s.c, object("rules.example.org/v1", "Part", s.cluster, "p"))
			},
		},
	}
}

// TestRules follows an object of a consumer by each rule.
func TestRules(t *testing.T) {
	s := newWorld(t, &service)
	provider.Start(t, service.User(t, "provider", "system:masters"))
	for name, r := range s.rules() {
		t.Run(name, func(t *testing.T) {
			t.Log(r.reason)
			for i, other := range r.others {
				defer s.publish(t, fmt.Sprintf("%s-%d", strings.ToLower(name), i), other)()
			}
			defer s.publish(t, strings.ToLower(name), s.spec(t, r))()
			for _, o := range r.aside {
				appear(t, s.in, o)
			}
			s.follow(t, r)
			for _, o := range r.aside {
				kube.Remove(t, s.in, o)
			}
		})
	}
}

// spec returns the spec of a rule with the identity of the other APIExport, the claim to which the consumer accepts.
func (s *world) spec(t *testing.T, r rule) string {
	t.Helper()
	if !strings.Contains(r.spec, "IDENTITY") {
		return r.spec
	}
	export := &apisv1alpha2.APIExport{}
	kube.Eventually(t, "an identity", func() (bool, string) {
		err := s.other.Get(t.Context(), types.NamespacedName{Name: otherName}, export)
		return err == nil && export.Status.IdentityHash != "", fmt.Sprint(err)
	})
	claim := apisv1alpha2.PermissionClaim{
		GroupResource: apisv1alpha2.GroupResource{Group: "billing.example.org", Resource: "plans"},
		Verbs:         []string{"*"}, IdentityHash: export.Status.IdentityHash,
	}
	kube.Eventually(t, "the claim to be accepted", func() (bool, string) {
		b := &apisv1alpha2.APIBinding{}
		if err := s.in.Get(t.Context(), client.ObjectKeyFromObject(s.binding), b); err != nil {
			return false, err.Error()
		}
		b.Spec.PermissionClaims = append(b.Spec.PermissionClaims, kcp.Accepted(claim)...)
		err := s.in.Update(t.Context(), b)
		return err == nil, fmt.Sprint(err)
	})
	return strings.ReplaceAll(r.spec, "IDENTITY", export.Status.IdentityHash)
}

// follow follows an object through its life.
func (s *world) follow(t *testing.T, r rule) {
	t.Helper()
	above := object("rules.example.org/v1", "Gadget", namespace, "web")
	if r.kind != "" {
		above.SetKind(r.kind)
	}
	if r.unnamespaced {
		above.SetNamespace("")
	}
	appear(t, s.in, above)
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("rules.example.org/v1")
	list.SetKind("GadgetList")
	kube.Eventually(t, "one copy", func() (bool, string) {
		err := s.c.List(t.Context(), list)
		return err == nil && len(list.Items) == 1, fmt.Sprint(err, len(list.Items))
	})
	copied := &list.Items[0]
	if got := copied.GetNamespace() + "/" + copied.GetName(); got != r.copied &&
		!(strings.HasSuffix(r.copied, "/") && strings.HasPrefix(got, r.copied)) {
		t.Errorf("name of the copy: want %s, got %s", r.copied, got)
	}
	if diff := cmp.Diff(above.Object["spec"], copied.Object["spec"]); diff != "" {
		t.Errorf("spec of the copy: -want, +got:\n%s", diff)
	}
	kube.PatchStatus(t, s.c, copied.DeepCopy(), `{"status":{"phase":"Ready"}}`)
	kube.Await(t, s.in, above, "the status", func() (bool, string) {
		phase, _, _ := unstructured.NestedString(above.Object, "status", "phase")
		return phase == "Ready", fmt.Sprint(above.Object["status"])
	})
	if r.after != nil {
		r.after(t)
	}
	kube.Remove(t, s.in, above)
	kube.AwaitGone(t, s.c, copied)
}
