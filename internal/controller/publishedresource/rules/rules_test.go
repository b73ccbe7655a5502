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
	services     client.Client // of the first workspace with an APIExport
	consumer     *rest.Config
	binding      *apisv1alpha2.APIBinding
	cluster      string // of the consumer
}

// newWorld makes it, with ProviderConfigs that lead to the two APIExports.
func newWorld(t *testing.T, server *kube.Server, services, billing string) *world {
	t.Helper()
	server.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"), "testdata")
	s := &world{server: server, c: server.Client(t, apis.AddToScheme)}
	path, admin := workspaces.Workspace(t)
	otherPath, otherAdmin := workspaces.Workspace(t)
	s.services, s.other = kcp.Client(t, admin), kcp.Client(t, otherAdmin)
	s.offer(t, admin, services, exportName)
	s.offer(t, otherAdmin, billing, otherName)
	_, s.consumer = workspaces.Workspace(t)
	claims := kcp.Claims("events", "namespaces")
	s.binding = kcp.Bind(t, s.consumer, path, exportName, claims...)
	kcp.Bind(t, s.consumer, otherPath, otherName, claims[0])
	s.in = kcp.Client(t, s.consumer)
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	kube.Create(t, s.in, created)
	s.cluster = created.Annotations["kcp.io/cluster"]
	return s
}

// offer makes an APIExport, and the ProviderConfig that leads to it.
func (s *world) offer(t *testing.T, admin *rest.Config, config, export string) {
	t.Helper()
	kube.Create(t, kcp.Client(t, admin), kcp.Export(export))
	ns := s.server.Namespace(t)
	account := kcp.ServiceAccount(t, admin, "agent-"+config, kcp.AgentRules(export)...)
	spec := build.FromSecret(ns, "kcp")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: export}}
	kube.Create(t, s.c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, account)),
		build.ClusterConfig(config, spec))
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

// A rule is a PublishedResource of Gadgets and what it does.
type rule struct {
	reason, spec string
	// above is the consumer's object, a Gadget if it is nil.
	above *unstructured.Unstructured
	// others are PublishedResources that are there before, aside an object of the consumer that is, and issued one that
	// the service cluster has then.
	others        []string
	aside, issued *unstructured.Unstructured
	// copied is what comes about then, on the service cluster, or for the consumer if something is issued.
	copied *unstructured.Unstructured
}

const (
	gadgets = "resource: {apiGroup: rules.example.org, kind: Gadget}\n"
	parts   = "resource: {apiGroup: rules.example.org, kind: Part}\n"
)

func (s *world) rules() map[string]rule {
	part := func() *unstructured.Unstructured { return object("rules.example.org/v1", "Part", s.cluster, "p") }
	plan := func(namespace string) *unstructured.Unstructured {
		return object("billing.example.org/v1", "Plan", namespace, "gold")
	}
	return map[string]rule{
		"Scope": {
			reason: "Consumers may have no namespaces for it.",
			spec:   gadgets + "projection: {kind: Wide, plural: wides, scope: Cluster}",
			above:  object("rules.example.org/v1", "Wide", "", "web"),
		},
		"Identity": {
			reason: "Related objects may be of an API that another APIExport offers.",
			spec: gadgets + `
related:
- {identifier: plan, origin: kcp, group: billing.example.org, version: v1, resource: plans, identityHash: IDENTITY,
  object: {reference: {path: spec.plan}}}`,
			others: []string{
				"providerConfigRef: {name: billing}\nresource: {apiGroup: billing.example.org, kind: Plan}" + unsynced,
			},
			aside: plan(namespace), copied: plan(s.cluster),
		},
		"RelatedProjection": {
			reason: "Related objects may be of another kind in kcp.",
			spec: gadgets + `
related:
- {identifier: part, origin: service, group: rules.example.org, version: v1, resource: parts, cleanup: true,
  projection: {group: pieces.example.com, version: v1beta1, resource: pieces}, object: {reference: {path: spec.part}}}`,
			others: []string{
				parts + "projection: {group: pieces.example.com, kind: Piece, plural: pieces, versions: {v1: v1beta1}}" + unsynced,
			},
			issued: part(), copied: object("pieces.example.com/v1beta1", "Piece", namespace, "p"),
		},
		"RelatedProjectionOfConsumer": {
			reason: "Related objects of consumers are named as they are in kcp, " +
				"and projected to what they are on the service cluster.",
			spec: gadgets + `
related:
- {identifier: slice, origin: kcp, group: slices.example.com, version: v1beta1, resource: slices,
  projection: {group: rules.example.org, version: v1, resource: parts}, object: {reference: {path: spec.part}}}`,
			others: []string{
				parts + "projection: {group: slices.example.com, kind: Slice, plural: slices, versions: {v1: v1beta1}}" + unsynced,
			},
			aside: object("slices.example.com/v1beta1", "Slice", namespace, "p"), copied: part(),
		},
	}
}

// TestRules follows an object of a consumer by each rule.
func TestRules(t *testing.T) {
	s := newWorld(t, &service, "default", "billing")
	provider.Start(t, service.User(t, "provider", "system:masters"))
	for name, r := range s.rules() {
		t.Run(name, func(t *testing.T) {
			t.Log(r.reason)
			for i, other := range r.others {
				defer s.publish(t, fmt.Sprintf("%s-%d", strings.ToLower(name), i), other)()
			}
			defer s.publish(t, strings.ToLower(name), s.spec(t, r))()
			if r.aside != nil {
				kcp.CreateServed(t, s.consumer, r.aside)
			}
			s.follow(t, r)
			if r.aside != nil {
				kube.Remove(t, s.in, r.aside)
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
	above := r.above
	if above == nil {
		above = object("rules.example.org/v1", "Gadget", namespace, "web")
	}
	kcp.CreateServed(t, s.consumer, above)
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("rules.example.org/v1")
	list.SetKind("GadgetList")
	kube.Eventually(t, "one copy", func() (bool, string) {
		err := s.c.List(t.Context(), list)
		return err == nil && len(list.Items) == 1, fmt.Sprint(err, len(list.Items))
	})
	copied := &list.Items[0]
	if got := copied.GetNamespace(); got != s.cluster {
		t.Errorf("namespace of the copy: want %s, got %s", s.cluster, got)
	}
	if diff := cmp.Diff(above.Object["spec"], copied.Object["spec"]); diff != "" {
		t.Errorf("spec of the copy: -want, +got:\n%s", diff)
	}
	kube.PatchStatus(t, s.c, copied.DeepCopy(), `{"status":{"phase":"Ready"}}`)
	kube.Await(t, s.in, above, "the status", func() (bool, string) {
		phase, _, _ := unstructured.NestedString(above.Object, "status", "phase")
		return phase == "Ready", fmt.Sprint(above.Object["status"])
	})
	side := s.c
	if r.issued != nil {
		kube.Create(t, s.c, r.issued)
		side = s.in
	}
	if r.copied != nil {
		kube.Await(t, side, r.copied, "what is related", func() (bool, string) { return true, "" })
	}
	kube.Remove(t, s.in, above)
	kube.AwaitGone(t, s.c, copied)
	if r.issued != nil {
		kube.Remove(t, s.c, r.issued) // Others have a Part of this name, too.
	}
}
