package chart

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	syncagentv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kubelet"
	"github.com/crossplane-contrib/provider-kcp/internal/test/openshift"
)

// Names of the guide.
const (
	namespace  = "kcp-sync"
	release    = "provider-kcp"
	exportName = "services.example.com"
	published  = "publishedresources.syncagent.kcp.io"
)

// newField is a field that an older definition of PublishedResources lacks.
const newField = "synchronization"

// A stage is the service cluster and the kcp workspaces that all steps share.
type stage struct {
	*guide

	life     *testing.T    // the parent test: what is created with it exists until the last step
	c        client.Client // of the service cluster
	kubelet  *kubelet.Kubelet
	path     string        // of the workspace with the APIExport
	consumer client.Client // of a workspace that has bound it
}

// TestChart goes through the life of a release, by the commands of the guide, in order.
func TestChart(t *testing.T) {
	definitions, err := local.CertManagerDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	service.InstallCRDs(t, definitions)
	pushImage(t, images.Host+"/crossplane-contrib/provider-kcp", "v0.1.0", "v0.2.0")
	s := &stage{
		guide: newGuide(t, filepath.Join("how-to", "install-with-helm.md")), life: t, c: service.Client(t, apis.AddToScheme),
	}
	s.kubelet = kubelet.Start(t, &service, namespace)
	path, admin := workspaces.Workspace(t)
	s.path = path
	publisher := kcp.ServiceAccount(t, admin, "publisher", kcp.CreatorRules(exportName)...)
	s.Write(t, "kcp.kubeconfig", kube.Kubeconfig(t, publisher))
	kube.RunSteps(t, []kube.Step{
		{Name: "Installs", Run: s.installs},
		{Name: "Syncs", Run: s.syncs},
		{Name: "EnablesOtherKinds", Run: s.enables},
		{Name: "UpgradesDefinitions", Run: s.upgrades},
		{Name: "LeavesDataWhenItIsUninstalled", Run: s.uninstalls},
		{Name: "FinishesAfterTheWrongOrder", Run: s.finishes},
		{Name: "TakesOnDefinitionsOfTheAgent", Run: s.takesOn},
	})
}

// installs shows that the commands of the guide publish an API, also in a project of OpenShift.
func (s *stage) installs(t *testing.T) {
	openshift.Project(t, s.c, namespace)
	s.follow(t, "## Install")
	for name := range packaged(t) {
		err := s.c.Get(t.Context(), types.NamespacedName{Name: name}, &apiextensionsv1.CustomResourceDefinition{})
		if wanted := slices.Contains(publishingDefinitions, name); wanted != (err == nil) {
			t.Errorf("%s: want it to be there: %t, read: %v", name, wanted, err)
		}
	}
}

// syncs shows that an object of a consumer has a copy, and that its status comes back.
func (s *stage) syncs(t *testing.T) {
	_, admin := workspaces.Workspace(s.life)
	kcp.AwaitBound(t, admin, kcp.Bind(s.life, admin, s.path, exportName, kcp.Claims("events")...))
	s.consumer = kcp.Client(t, admin)
	s.order(t, "first")
	copied := s.awaitCopies(t, 1)[0]
	kube.PatchStatus(t, s.c, &copied, `{"status":{"notAfter":"2030-01-01T00:00:00Z"}}`)
	o := certificate("first")
	kube.Await(t, s.consumer, o, "the status to come back", func() (bool, string) {
		at, _, _ := unstructured.NestedString(o.Object, "status", "notAfter")
		return at == "2030-01-01T00:00:00Z", at
	})
}

// upgrades shows that an upgrade changes an older definition, and makes no copy anew.
func (s *stage) upgrades(t *testing.T) {
	before := s.awaitCopies(t, 1)[0].GetUID()
	s.age(t)
	s.follow(t, "## Upgrade")
	awaitField(t, s.c, true)
	d := &appsv1.Deployment{}
	kube.Get(t, s.c, types.NamespacedName{Namespace: namespace, Name: release}, d)
	if image := d.Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(image, ":v0.2.0") {
		t.Errorf("want the image of the new version, got %s", image)
	}
	s.order(t, "second")
	if all := s.awaitCopies(t, 2); all[0].GetUID() != before && all[1].GetUID() != before {
		t.Error("the first copy has been made anew")
	}
}

// enables shows that kinds can be enabled later, with all that they need, beside what their Objects keep.
func (s *stage) enables(t *testing.T) {
	s.follow(t, "## Enable other kinds")
	kinds, ns := build.Cluster(), service.Namespace(t)
	config := kinds.Config("", "local",
		commonv1.ProviderConfigSpec{Credentials: commonv1.ProviderCredentials{Source: "InjectedIdentity"}})
	o := kinds.Object("", "greeting", "local", build.ConfigMap(ns, "greeting"))
	kube.Create(t, s.c, config, o)
	key := types.NamespacedName{Namespace: ns, Name: "greeting"}
	kube.Eventually(t, "the ConfigMap of an Object", func() (bool, string) {
		err := s.c.Get(t.Context(), key, &corev1.ConfigMap{})
		return err == nil, fmt.Sprint(err)
	})
	kube.Remove(t, s.c, o) // To uninstall is to delete first what one has made.
	kube.Remove(t, s.c, config)
	if err := s.c.Get(t.Context(), key, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap is still there: %v", err)
	}
}

// uninstalls shows that the commands of the guide do not hang, that resources of others stay, and that our finalizers
// are removed from consumers' objects.
func (s *stage) uninstalls(t *testing.T) {
	blocks := s.commands(t, "## Uninstall")
	s.Run(t, blocks[0])
	awaitField(t, s.c, true)
	s.awaitCopies(t, 2)
	states := &corev1.SecretList{}
	err := s.c.List(t.Context(), states, client.InNamespace(namespace), client.HasLabels{objectsync.LabelState})
	if err != nil || len(states.Items) == 0 {
		t.Errorf("want states to stay, got %d: %v", len(states.Items), err)
	}
	s.awaitFinalizers(t, false)
	for _, o := range []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
		if err := s.c.Get(t.Context(), types.NamespacedName{Name: release}, o); !apierrors.IsNotFound(err) {
			t.Errorf("%T is still there: %v", o, err)
		}
	}
	kube.Eventually(t, "the pod to end", func() (bool, string) {
		n := s.kubelet.Processes()
		return n == 0, fmt.Sprintf("%d run", n)
	})
	s.Run(t, blocks[1]+blocks[2])
	for name := range packaged(t) {
		err := s.c.Get(t.Context(), types.NamespacedName{Name: name}, &apiextensionsv1.CustomResourceDefinition{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}

// finishes shows that a deletion which hangs because the release was uninstalled first ends after it is installed
// again.
func (s *stage) finishes(t *testing.T) {
	s.follow(t, "## Install")
	s.awaitFinalizers(t, true)
	s.Run(t, "helm uninstall provider-kcp --namespace kcp-sync --wait")
	o := &syncagentv1alpha1.PublishedResource{ObjectMeta: metav1.ObjectMeta{Name: "certificates"}}
	kube.Delete(t, s.c, o)
	kube.Throughout(t, time.Second, "the PublishedResource to hang", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return err == nil && o.GetDeletionTimestamp() != nil, fmt.Sprint(err)
	})
	s.Run(t, s.commands(t, "## Install")[0])
	kube.AwaitGone(t, s.c, o)
	s.awaitFinalizers(t, false)
	s.remove(t)
}

// takesOn shows that a definition installed by somebody else is refused, and that the flag which the guide names then
// has the command adopt and upgrade it.
func (s *stage) takesOn(t *testing.T) {
	crd := packaged(t)[published]
	kube.Create(t, s.c, crd)
	s.age(t)
	command := s.commands(t, "## Install")[0]
	out, err := s.Try(command)
	if err == nil || !strings.Contains(out, "exists and cannot be imported") {
		t.Errorf("want it refused, got %v:\n%s", err, out)
	}
	s.Run(t, strings.Replace(command, "helm install", "helm install --take-ownership", 1))
	awaitField(t, s.c, true)
	// A provider that loses its permissions while it starts ends with an error.
	lease := &coordinationv1.Lease{ObjectMeta: build.Meta(namespace, "crossplane-leader-election-provider-kubernetes")}
	kube.Await(t, s.c, lease, "the provider to run", func() (bool, string) {
		return lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", fmt.Sprint(lease.Spec)
	})
	s.remove(t)
}

// remove uninstalls the release, with the kinds of publishing and the namespace.
func (s *stage) remove(t *testing.T) {
	t.Helper()
	blocks := s.commands(t, "## Uninstall")
	s.Run(t, blocks[0]+blocks[1])
}

// age removes a field from the definition of PublishedResources, as if an older version had installed it.
func (s *stage) age(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "an older definition", func() (bool, string) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		kube.Get(t, s.c, types.NamespacedName{Name: published}, crd)
		fields := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
		_, known := fields[newField]
		delete(fields, newField)
		err := s.c.Update(t.Context(), crd)
		return known && err == nil, fmt.Sprintf("%s known: %t, update: %v", newField, known, err)
	})
}

// awaitField waits until the definition of PublishedResources has the field that older ones lack, or has it no more.
func awaitField(t *testing.T, c client.Client, want bool) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("the definition to know %s: %t", newField, want), func() (bool, string) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(t.Context(), types.NamespacedName{Name: published}, crd); err != nil {
			return false, err.Error()
		}
		_, known := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties[newField]
		return known == want, ""
	})
}

// certificate returns an object of a consumer.
func certificate(name string) *unstructured.Unstructured {
	u := build.Resource("cert-manager.io/v1", "Certificate", metav1.NamespaceDefault, name)
	u.Object["spec"] = map[string]any{
		"secretName": name, "issuerRef": map[string]any{"name": "any"}, "dnsNames": []any{"example.com"},
	}
	return u
}

// order creates an object of the consumer, as soon as the workspace serves its kind.
func (s *stage) order(t *testing.T, name string) {
	t.Helper()
	kube.Eventually(t, "a Certificate in the workspace", func() (bool, string) {
		err := s.consumer.Create(t.Context(), certificate(name))
		return err == nil, fmt.Sprint(err)
	})
}

// awaitFinalizers waits until all objects of the consumer have finalizers, or none has.
func (s *stage) awaitFinalizers(t *testing.T, want bool) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("finalizers of consumers' objects: %t", want), func() (bool, string) {
		var said []string
		done := true
		for _, name := range []string{"first", "second"} {
			o := certificate(name)
			err := s.consumer.Get(t.Context(), client.ObjectKeyFromObject(o), o)
			done = done && err == nil && want == (len(o.GetFinalizers()) > 0)
			said = append(said, fmt.Sprintf("%s: %q %v", name, o.GetFinalizers(), err))
		}
		return done, strings.Join(said, ", ")
	})
}

// awaitCopies waits until the service cluster has as many copies, and returns them.
func (s *stage) awaitCopies(t *testing.T, want int) (all []unstructured.Unstructured) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%d copies", want), func() (bool, string) {
		all = kube.ListOf(t, s.c, "cert-manager.io/v1", "Certificate", client.HasLabels{objectsync.LabelCluster})
		return len(all) == want, strconv.Itoa(len(all))
	})
	return all
}
