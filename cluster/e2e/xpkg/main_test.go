package xpkg

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kubelet"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

const admins = "system:masters"

var (
	target kube.Server
	// workspaces are where APIs are published to.
	workspaces kcp.Server
	// images is where packages are pushed to.
	images oci.Registry
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // envtest logs what it installs.
	os.Exit(kube.Run(m, &images, &target, &workspaces))
}

// A stage is an installation that the steps of a test go through in turn.
type stage struct {
	control *kube.Server
	c, tc   client.Client // of the control plane and of the target
	kubelet *kubelet.Kubelet
	shell   guide.Shell // beside the examples, with a kubeconfig of an administrator of the control plane
	ns      string      // on both, for all steps
}

// newStage starts a control plane with a version of Crossplane and nodes that play pods.
func newStage(
	t *testing.T, version func(context.Context, local.CrossplaneOptions) (*local.Crossplane, error),
) *stage {
	t.Helper()
	server := &kube.Server{ControllerManager: true}
	kube.StartServer(t, server.WithNodes())
	crossplane.Start(t, version, server.Config())
	s := &stage{
		control: server, c: server.Client(t, apis.AddToScheme), tc: target.Client(t), ns: target.Namespace(t),
		kubelet: kubelet.Start(t, server, local.CrossplaneNamespace),
		shell:   guide.NewShell(t, server.Config(), filepath.Join(top, "examples"), filepath.Join(top, "package")),
	}
	s.shell.Env = append(s.shell.Env, "REGISTRY="+registry())
	kube.Create(t, s.c, &corev1.Namespace{ObjectMeta: build.Meta("", s.ns)})
	return s
}

// keepKubeconfig makes the Secret that ProviderConfigs of the target name, and returns their spec.
func (s *stage) keepKubeconfig(t *testing.T) commonv1.ProviderConfigSpec {
	t.Helper()
	kube.Create(t, s.c, build.Credentials(s.ns, "target", kube.Kubeconfig(t, target.User(t, "provider", admins))))
	return build.FromSecret(s.ns, "target")
}

// registry is the REGISTRY of the guides.
func registry() string { return images.Host + "/crossplane-contrib" }

// push builds the package in a version, pushes it, and returns its name in the registry.
func push(t *testing.T, version string) string {
	t.Helper()
	if out, err := makeIn(top, "xpkg.push", "ARCHES="+runtime.GOARCH, "REGISTRY="+registry(), "VERSION="+version,
		"XPKG="+t.TempDir()); err != nil {
		t.Fatalf("cannot push package: %v\n%s", err, out)
	}
	return registry() + "/provider-kcp:" + version
}

// A conditioned resource says how it is.
type conditioned interface {
	client.Object
	GetCondition(t xpv2.ConditionType) xpv2.Condition
}

// provider returns the Provider.
func (s *stage) provider(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u := build.Resource("pkg.crossplane.io/v1", "Provider", "", "provider-kcp")
	kube.Get(t, s.c, client.ObjectKeyFromObject(u), u)
	return u
}

// awaitProvider waits until Crossplane says of the Provider that conditions hold.
func (s *stage) awaitProvider(t *testing.T, want ...xpv2.ConditionType) {
	t.Helper()
	kube.Eventually(t, "the Provider to be healthy", func() (bool, string) {
		u := s.provider(t)
		lacks := slices.ContainsFunc(want, func(c xpv2.ConditionType) bool {
			status, _ := kube.Condition(u, string(c))
			return status != "True"
		})
		said := []any{u.Object["status"]}
		for _, r := range kube.ListOf(t, s.c, "pkg.crossplane.io/v1", "ProviderRevision") { // They only explain.
			said = append(said, r.GetName(), r.Object["status"])
		}
		return !lacks, fmt.Sprintln(said...)
	})
}

// awaitKind waits until a CustomResourceDefinition is established.
func (s *stage) awaitKind(t *testing.T, name string) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: build.Meta("", name)}
	kube.Await(t, s.c, crd, name+" to be established", func() (bool, string) {
		return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}), ""
	})
}

func (s *stage) awaitReady(t *testing.T, o conditioned) {
	t.Helper()
	kube.Await(t, s.c, o, o.GetName()+" to be ready", func() (bool, string) {
		ready, synced := o.GetCondition(xpv2.TypeReady), o.GetCondition(xpv2.TypeSynced)
		return ready.Status == corev1.ConditionTrue && synced.Status == corev1.ConditionTrue,
			"ready: " + ready.Message + ", synced: " + synced.Message
	})
}

// awaitMessage waits until a resource says in a condition why it is not synced.
func (s *stage) awaitMessage(t *testing.T, o conditioned, part string) {
	t.Helper()
	kube.Await(t, s.c, o, o.GetName()+" to say what is missing", func() (bool, string) {
		c := o.GetCondition(xpv2.TypeSynced)
		return c.Status == corev1.ConditionFalse && strings.Contains(c.Message, part), c.Message
	})
}

// awaitData waits until a ConfigMap of the target has a color.
func (s *stage) awaitData(t *testing.T, name, color string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(s.ns, name)}
	kube.Await(t, s.tc, cm, "ConfigMap "+name+" on the target", func() (bool, string) {
		return cm.Data["color"] == color, "color: " + cm.Data["color"]
	})
}

// awaitMembers waits until a collection has a number of members.
func (s *stage) awaitMembers(t *testing.T, oc client.Object, want int) {
	t.Helper()
	kube.Eventually(t, strconv.Itoa(want)+" members", func() (bool, string) {
		l := build.Namespaced().NewList()
		err := s.c.List(t.Context(), l, client.InNamespace(s.ns),
			client.MatchingLabels{commonv1.LabelKeyCollection: oc.GetName()})
		n := meta.LenList(l)
		return err == nil && n == want, "members: " + strconv.Itoa(n)
	})
}

// throughClusterConfig makes a namespaced Object refer to a ClusterProviderConfig.
func throughClusterConfig(o build.Object) build.Object {
	if o, ok := o.(*mobjectv1alpha1.Object); ok {
		o.Spec.ProviderConfigReference.Kind = mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind
	}
	return o
}
