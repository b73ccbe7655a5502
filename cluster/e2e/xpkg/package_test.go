package xpkg

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mcollectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/collection/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestPackage goes through the life of an installation, in order.
func TestPackage(t *testing.T) {
	s, host := newStage(t, local.StartCrossplane), mirror(t)
	kube.RunSteps(t, []kube.Step{
		{Name: "IsMirrored", Run: func(t *testing.T) { s.mirrors(t, host) }},
		{Name: "Installs", Run: s.installs},
		{Name: "StartsWhenAKindIsActive", Run: s.starts},
		{Name: "DeniesTenantsTheLoopbackOfItsPod", Run: s.denies},
		{Name: "KeepsTheFirstObjectOfREADME", Run: s.keepsFirstObject},
		{Name: "ReachesTargetsThroughAProxy", Run: s.throughProxy},
		{Name: "RunsTwoReplicas", Run: s.runsTwo},
		{Name: "WorksWithWhatCrossplaneGrants", Run: s.works},
		{Name: "NeedsRightsForLocalObjects", Run: s.local},
		{Name: "NeedsRightsForReferences", Run: s.references},
		{Name: "NeedsRightsForCollections", Run: s.collections},
		{Name: "TakesOnAKindThatIsActivatedLater", Run: s.activates},
		{Name: "NeedsRightsForApplications", Run: s.applications},
		{Name: "NeedsRightsToPublish", Run: s.publishes},
		{Name: "LosesNothingInAnUpgrade", Run: s.upgrade},
		{Name: "IsUninstalledInAnyOrder", Run: s.uninstalls},
	})
}

// installs shows that Crossplane accepts the package by the command of docs/how-to/install.md, and does not run it
// before one of its kinds is active.
func (s *stage) installs(t *testing.T) {
	install, _, _ := strings.Cut(commands(t, "## Install")[0], "\n") // The others come with other tests.
	s.shell.Run(t, install)
	s.awaitProvider(t, "Installed", "Healthy")
	mrds := kube.ListOf(t, s.c, "apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition")
	if len(mrds) == 0 {
		t.Error("the package defines no managed resources")
	}
	for _, m := range mrds {
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
		return s.kubelet.Processes() == 1, fmt.Sprint("deployments: ", d.Items, err)
	})
	s.awaitProvider(t, "Healthy")
}

// denies shows that a namespaced ProviderConfig may not point at the loopback of the provider's pod, until the operator
// allows it. The target of all that follows has such an address.
func (s *stage) denies(t *testing.T) {
	scope := build.Namespaced()
	kube.Create(t, s.c, scope.Config(s.ns, "target", s.keepKubeconfig(t)))
	o := scope.Object(s.ns, "denied", "target", build.ConfigMap(s.ns, "denied"))
	kube.Create(t, s.c, o)
	s.awaitMessage(t, o, "which is denied unless --allowed-target-cidrs names it")
	s.setArguments(t, "--leader-election", "--allowed-target-cidrs=127.0.0.0/8")
	s.awaitReady(t, o)
	kube.Remove(t, s.c, o)
}

// setArguments sets the arguments that Crossplane runs the provider with.
func (s *stage) setArguments(t *testing.T, arguments ...string) {
	t.Helper()
	s.shell.Run(t, `kubectl patch deploymentruntimeconfigs provider-kcp --type=json -p '[{"op": "replace", "value": ["`+
		strings.Join(arguments, `", "`)+`"], "path": "/spec/deploymentTemplate/spec/template/spec/containers/0/args"}]'`)
}

// works shows that an Object for another cluster needs no more rights than those Crossplane grants.
func (s *stage) works(t *testing.T) {
	scope := build.Namespaced()
	o := scope.Object(s.ns, "settings", "target", build.ConfigMap(s.ns, "settings", "color", "blue"))
	build.WriteConnectionSecret(o, types.NamespacedName{Name: "details"})
	o.Desired().ConnectionDetails = []commonv1.ConnectionDetail{build.ConnectionDetail(corev1.ObjectReference{
		Kind: "ConfigMap", Namespace: s.ns, Name: "settings", FieldPath: "data.color",
	}, "color")}
	kube.Create(t, s.c, o)
	s.awaitReady(t, o)
	s.awaitData(t, "settings", "blue")
	secret := &corev1.Secret{ObjectMeta: build.Meta(s.ns, "details")}
	kube.Await(t, s.c, secret, "the connection secret", func() (bool, string) {
		return string(secret.Data["color"]) == "blue", ""
	})
	kube.Remove(t, s.c, o)
}

// local shows that an Object for the control plane itself says which right it needs, and has all it needs by the
// example.
func (s *stage) local(t *testing.T) {
	spec := commonv1.ProviderConfigSpec{
		Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceInjectedIdentity},
	}
	kube.Create(t, s.c, build.ClusterConfig("local", spec))
	sleeper := build.Deployment(s.ns, "sleeper")
	sleeper["spec"].(map[string]any)["paused"] = true
	o := throughClusterConfig(build.Namespaced().Object(s.ns, "sleeper", "local", sleeper))
	kube.Create(t, s.c, o)
	s.awaitMessage(t, o, `cannot get resource "deployments" in API group "apps"`)
	s.apply(t, "rbac/local-objects.yaml")
	s.awaitReady(t, o)
	d := &appsv1.Deployment{ObjectMeta: build.Meta(s.ns, "sleeper")}
	kube.Patch(t, s.c, d, `{"spec":{"paused":false}}`)
	kube.Await(t, s.c, d, "the change of somebody else to be reverted", func() (bool, string) { return d.Spec.Paused, "" })
	kube.Remove(t, s.c, o)
	kube.AwaitGone(t, s.c, d)
}

// references shows what references to other kinds need.
func (s *stage) references(t *testing.T) {
	service := &corev1.Service{
		ObjectMeta: build.Meta(s.ns, "front"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	kube.Create(t, s.c, service)
	o := build.Namespaced().Object(s.ns, "front", "target", build.ConfigMap(s.ns, "front"))
	o.Desired().References = []commonv1.Reference{{
		PatchesFrom: &commonv1.PatchesFrom{
			APIVersion: "v1", Kind: "Service", Namespace: s.ns, Name: "front", FieldPath: "spec.clusterIP",
		},
		ToFieldPath: new("data.color"),
	}}
	kube.Create(t, s.c, o)
	s.awaitMessage(t, o, `cannot get resource "services"`)
	s.apply(t, "rbac/references.yaml")
	s.awaitReady(t, o)
	s.awaitData(t, "front", service.Spec.ClusterIP)
	kube.Remove(t, s.c, o)
	kube.Remove(t, s.c, service)
}

// collections shows what a collection needs when a resource is gone.
func (s *stage) collections(t *testing.T) {
	chosen := &corev1.ConfigMap{ObjectMeta: build.Meta(s.ns, "chosen")}
	chosen.SetLabels(map[string]string{"chosen": "yes"})
	kube.Create(t, s.tc, chosen)
	oc := &mcollectionv1alpha1.ObservedObjectCollection{ObjectMeta: build.Meta(s.ns, "chosen")}
	oc.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "target"}
	oc.Spec.ObserveObjects.APIVersion, oc.Spec.ObserveObjects.Kind = "v1", "ConfigMap"
	oc.Spec.ObserveObjects.Namespace = s.ns
	oc.Spec.ObserveObjects.Selector.MatchLabels = chosen.GetLabels()
	kube.Create(t, s.c, oc)
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
	kube.Create(t, s.c, scope.Config("", "target", build.FromSecret(s.ns, "target")))
	o := scope.Object("", "late", "target", build.ConfigMap(s.ns, "late", "color", "green"))
	kube.Create(t, s.c, o)
	s.awaitReady(t, o)
	s.awaitData(t, "late", "green")
	kube.Remove(t, s.c, o)
	if n := s.kubelet.Processes(); n != 1 {
		t.Errorf("want one provider all the time, got %d", n)
	}
}

// apply applies a file of examples, after changes.
func (s *stage) apply(t *testing.T, file string, change ...func(*unstructured.Unstructured)) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(top, "examples", file))
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
		kube.Create(t, s.c, u)
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

// mostCommands is how many commands lead from an empty control plane with Crossplane to a first Object at most.
const mostCommands = 9

// command begins a command.
var command = regexp.MustCompile("(?m)^(kubectl|sed) ")

// awaitFirstKind waits by README's own command for what is applied then: a user gives it when nothing is served yet.
func (s *stage) awaitFirstKind(t *testing.T) {
	t.Helper()
	first := guide.Commands(t, filepath.Join(top, "README.md"), "## A first Object")
	wait, _, _ := strings.Cut(first[0], "\n")
	if !strings.HasPrefix(wait, "kubectl wait ") {
		t.Fatalf("README does not wait for the kind of its first Object: %s", wait)
	}
	s.shell.Run(t, wait)
	for _, kind := range []string{"clusterproviderconfigs", "objects"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := s.c.Get(t.Context(), types.NamespacedName{Name: kind + ".kubernetes.m.crossplane.io"}, crd); err != nil {
			t.Error(err)
		}
	}
}

// keepsFirstObject shows that README leads to a first Object with few commands, where nothing is there but Crossplane
// and the package, and that what it says of drift and deletion is so.
func (s *stage) keepsFirstObject(t *testing.T) {
	readme := filepath.Join(top, "README.md")
	first := guide.Commands(t, readme, "## A first Object")
	all := guide.Commands(t, readme, "## Install")[0] + strings.Join(first, "")
	if n := len(command.FindAllString(all, -1)); n > mostCommands {
		t.Errorf("commands from an empty control plane to a first Object: want at most %d, got %d:\n%s", mostCommands, n, all)
	}
	remote := kube.Kubeconfig(t, target.User(t, "provider", admins))
	s.shell.Write(t, "remote.kubeconfig", remote)
	s.shell.RunAll(t, first)
	hello := s.hello(t, types.UID(""))
	kube.Delete(t, s.tc, hello)
	s.hello(t, hello.UID)
	s.shell.Run(t, "kubectl delete objects.kubernetes.m.crossplane.io/hello")
	err := s.tc.Get(t.Context(), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "hello"}, hello)
	if !apierrors.IsNotFound(err) {
		t.Errorf("ConfigMap of a deleted Object: want it gone, got %v", err)
	}
	// The records of use go with their Objects, as soon as the garbage collector knows their new kind.
	s.shell.Run(t, "kubectl delete clusterproviderconfigs.kubernetes.m.crossplane.io/remote --wait=false")
}

// hello waits for the ConfigMap of README's Object, with another UID than that of a former one.
func (s *stage) hello(t *testing.T, former types.UID) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(metav1.NamespaceDefault, "hello")}
	kube.Await(t, s.tc, cm, "ConfigMap hello", func() (bool, string) {
		return cm.UID != former && cm.Data["message"] == "hello, world", fmt.Sprint(cm.Data)
	})
	return cm
}
