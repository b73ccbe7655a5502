package xpkg

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mcollectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/collection/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kubelet"
)

// A stage is the installation that the tests of this package go through in turn.
type stage struct {
	control *kube.Server
	c, tc   client.Client // of the control plane and of the target
	kubelet *kubelet.Kubelet
	ns      string // on both, for all tests
}

// TestPackage goes through the life of an installation, in order.
func TestPackage(t *testing.T) {
	s := &stage{control: &control, c: control.Client(t, apis.AddToScheme), tc: target.Client(t), ns: target.Namespace(t)}
	create(t, s.c, &corev1.Namespace{ObjectMeta: build.Meta("", s.ns)})
	s.kubelet = kubelet.Start(t, &control, local.CrossplaneNamespace)
	kube.RunSteps(t, []kube.Step{
		{Name: "Installs", Run: s.installs},
		{Name: "StartsWhenAKindIsActive", Run: s.starts},
		{Name: "DeniesTenantsTheLoopbackOfItsPod", Run: s.denies},
		{Name: "KeepsTheFirstObjectOfREADME", Run: s.keepsFirstObject},
		{Name: "WorksWithWhatCrossplaneGrants", Run: s.works},
		{Name: "NeedsRightsForLocalObjects", Run: s.local},
		{Name: "NeedsRightsForReferences", Run: s.references},
		{Name: "NeedsRightsForCollections", Run: s.collections},
		{Name: "TakesOnAKindThatIsActivatedLater", Run: s.activates},
		{Name: "NeedsRightsForApplications", Run: s.applications},
		{Name: "NeedsRightsToPublish", Run: s.publishes},
		{Name: "LosesNothingInAnUpgrade", Run: s.upgrade},
		{Name: "SharesTheWork", Run: s.shares},
		{Name: "IsUninstalledInAnyOrder", Run: s.uninstalls},
	})
}

// installs shows that Crossplane accepts the package by the command of docs/install.md, and does not run it before one
// of its kinds is active.
func (s *stage) installs(t *testing.T) {
	push(t, "v0.1.0")
	shell := guide.NewShell(t, s.control.Config(), filepath.Join(top, "examples"))
	shell.Env = append(shell.Env, "REGISTRY="+registry())
	install, _, _ := strings.Cut(commands(t, "## With Crossplane")[0], "\n") // The others come with other tests.
	shell.Run(t, install)
	s.awaitProvider(t, "Installed", "Healthy")
	mrds := &unstructured.UnstructuredList{}
	mrds.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "apiextensions.crossplane.io", Version: "v1alpha1", Kind: "ManagedResourceDefinitionList",
	})
	kube.List(t, s.c, mrds)
	if len(mrds.Items) == 0 {
		t.Error("the package defines no managed resources")
	}
	for _, m := range mrds.Items {
		if state, _, _ := unstructured.NestedString(m.Object, "spec", "state"); state != "Inactive" {
			t.Errorf("%s: want it inactive until somebody activates it, got %q", m.GetName(), state)
		}
	}
}

// starts shows that the provider is run as soon as a kind of it is active.
func (s *stage) starts(t *testing.T) {
	s.apply(t, "install/activation.yaml")
	s.awaitFirstKind(t)
	kube.Eventually(t, "the provider to run", func() (bool, string) {
		d := &appsv1.DeploymentList{}
		err := s.c.List(t.Context(), d, client.InNamespace("crossplane-system"))
		return s.kubelet.Processes() == 1, "deployments: " + describe(d.Items, err)
	})
	s.awaitProvider(t, "Healthy")
}

// denies shows that a namespaced ProviderConfig may not point at the loopback of the provider's pod, until the operator
// allows it. The target of all that follows has such an address.
func (s *stage) denies(t *testing.T) {
	create(t, s.c, &corev1.Secret{ObjectMeta: build.Meta(s.ns, "target"), Data: map[string][]byte{
		"kubeconfig": kube.Kubeconfig(t, target.User(t, "provider", "system:masters")),
	}})
	scope := build.Namespaced()
	create(t, s.c, scope.Config(s.ns, "target", build.FromSecret(s.ns, "target")))
	o := scope.Object(s.ns, "denied", "target", build.ConfigMap(s.ns, "denied"))
	create(t, s.c, o)
	s.awaitMessage(t, o, "which is denied unless --allowed-target-cidrs names it")
	s.setArguments(t, "--leader-election", "--allowed-target-cidrs=127.0.0.0/8")
	s.awaitReady(t, o)
	s.remove(t, o)
}

// setArguments sets the arguments that Crossplane runs the provider with.
func (s *stage) setArguments(t *testing.T, arguments ...string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("pkg.crossplane.io/v1beta1")
	u.SetKind("DeploymentRuntimeConfig")
	kube.Get(t, s.c, types.NamespacedName{Name: "provider-kcp"}, u)
	changeArguments(t, u, func([]any) []any {
		args := make([]any, 0, len(arguments))
		for _, a := range arguments {
			args = append(args, a)
		}
		return args
	})
	kube.Update(t, s.c, u)
}

// changeArguments changes the arguments of the provider in a DeploymentRuntimeConfig.
func changeArguments(t *testing.T, u *unstructured.Unstructured, change func([]any) []any) {
	t.Helper()
	path := []string{"spec", "deploymentTemplate", "spec", "template", "spec", "containers"}
	containers, _, err := unstructured.NestedSlice(u.Object, path...)
	if err != nil || len(containers) != 1 {
		t.Fatalf("want one container, got %v: %v", containers, err)
	}
	container := containers[0].(map[string]any)
	container["args"] = change(container["args"].([]any))
	if err := unstructured.SetNestedSlice(u.Object, containers, path...); err != nil {
		t.Fatal(err)
	}
}

// works shows that an Object for another cluster needs no more rights than those Crossplane grants.
func (s *stage) works(t *testing.T) {
	scope := build.Namespaced()
	o := scope.Object(s.ns, "settings", "target", build.ConfigMap(s.ns, "settings", "color", "blue"))
	build.WriteConnectionSecret(o, types.NamespacedName{Name: "details"})
	o.Desired().ConnectionDetails = []commonv1.ConnectionDetail{build.ConnectionDetail(corev1.ObjectReference{
		Kind: "ConfigMap", Namespace: s.ns, Name: "settings", FieldPath: "data.color",
	}, "color")}
	create(t, s.c, o)
	s.awaitReady(t, o)
	s.awaitData(t, "settings", "blue")
	kube.Eventually(t, "the connection secret", func() (bool, string) {
		secret := &corev1.Secret{}
		err := s.c.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: "details"}, secret)
		return string(secret.Data["color"]) == "blue", "read: " + message(err)
	})
	s.remove(t, o)
}

// local shows that an Object for the control plane itself says which right it needs, and has all it needs by the
// example.
func (s *stage) local(t *testing.T) {
	spec := commonv1.ProviderConfigSpec{
		Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceInjectedIdentity},
	}
	create(t, s.c, clusterConfig("local", spec))
	o := throughClusterConfig(build.Namespaced().Object(s.ns, "sleeper", "local", deployment(s.ns, "sleeper")))
	create(t, s.c, o)
	s.awaitMessage(t, o, `cannot get resource "deployments" in API group "apps"`)
	s.apply(t, "rbac/local-objects.yaml")
	s.awaitReady(t, o)
	d := &appsv1.Deployment{ObjectMeta: build.Meta(s.ns, "sleeper")}
	if err := s.c.Patch(t.Context(), d,
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":false}}`))); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the change of somebody else to be reverted", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(d), d)
		return d.Spec.Paused, "read: " + message(err)
	})
	s.remove(t, o)
	s.awaitGone(t, d)
}

// references shows what references to other kinds need.
func (s *stage) references(t *testing.T) {
	service := &corev1.Service{
		ObjectMeta: build.Meta(s.ns, "front"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	create(t, s.c, service)
	o := build.Namespaced().Object(s.ns, "front", "target", build.ConfigMap(s.ns, "front"))
	o.Desired().References = []commonv1.Reference{{
		PatchesFrom: &commonv1.PatchesFrom{
			APIVersion: "v1", Kind: "Service", Namespace: s.ns, Name: "front", FieldPath: "spec.clusterIP",
		},
		ToFieldPath: new("data.color"),
	}}
	create(t, s.c, o)
	s.awaitMessage(t, o, `cannot get resource "services"`)
	s.apply(t, "rbac/references.yaml")
	s.awaitReady(t, o)
	s.awaitData(t, "front", service.Spec.ClusterIP)
	s.remove(t, o)
	kube.Delete(t, s.c, service)
	s.awaitGone(t, service)
}

// collections shows what a collection needs when a resource is gone.
func (s *stage) collections(t *testing.T) {
	chosen := &corev1.ConfigMap{ObjectMeta: build.Meta(s.ns, "chosen")}
	chosen.SetLabels(map[string]string{"chosen": "yes"})
	create(t, s.tc, chosen)
	oc := &mcollectionv1alpha1.ObservedObjectCollection{ObjectMeta: build.Meta(s.ns, "chosen")}
	oc.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "target"}
	oc.Spec.ObserveObjects.APIVersion, oc.Spec.ObserveObjects.Kind = "v1", "ConfigMap"
	oc.Spec.ObserveObjects.Namespace = s.ns
	oc.Spec.ObserveObjects.Selector.MatchLabels = chosen.GetLabels()
	create(t, s.c, oc)
	s.awaitMembers(t, oc, 1)
	s.awaitReady(t, oc)
	kube.Delete(t, s.tc, chosen)
	s.awaitMessage(t, oc, `cannot delete resource "objects" in API group "kubernetes.m.crossplane.io"`)
	s.apply(t, "rbac/collections.yaml")
	s.awaitMembers(t, oc, 0)
	s.awaitReady(t, oc)
	kube.Delete(t, s.c, oc)
}

// activates shows that a running provider looks after a kind that is activated while it runs.
func (s *stage) activates(t *testing.T) {
	s.activate(t, "all", "*.kubernetes.crossplane.io")
	s.awaitKind(t, "objects.kubernetes.crossplane.io")
	scope := build.Cluster()
	create(t, s.c, scope.Config("", "target", build.FromSecret(s.ns, "target")))
	o := scope.Object("", "late", "target", build.ConfigMap(s.ns, "late", "color", "green"))
	create(t, s.c, o)
	s.awaitReady(t, o)
	s.awaitData(t, "late", "green")
	s.remove(t, o)
	if n := s.kubelet.Processes(); n != 1 {
		t.Errorf("want one provider all the time, got %d", n)
	}
}

// apply applies a file of examples, after changes.
func (s *stage) apply(t *testing.T, file string, change ...func(*unstructured.Unstructured)) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", file))
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), len(b)+1); ; {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range change {
			f(u)
		}
		create(t, s.c, u)
	}
}

// inPackage sets the package of a Provider.
func inPackage(image string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if u.GetKind() != "Provider" {
			return
		}
		if err := unstructured.SetNestedField(u.Object, image, "spec", "package"); err != nil {
			panic(err)
		}
	}
}

func describe(ds []appsv1.Deployment, err error) string {
	parts := []string{message(err)}
	for _, d := range ds {
		parts = append(parts, d.GetName()+" "+d.Status.String())
	}
	return strings.Join(parts, ", ")
}
