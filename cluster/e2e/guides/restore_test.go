package guides

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	exportName = "shop.example.com"
	// restoredNamespace is that of the credentials and of the sync state.
	restoredNamespace = "crossplane-system"
)

var hatKind = schema.GroupVersionKind{Group: "restored.example.com", Version: "v1", Kind: "Hat"}

// everyKind is one of each kind that the other guides do not make.
const everyKind = `kubectl apply -f - <<'END'
apiVersion: kubernetes.crossplane.io/v1alpha1
kind: ObservedObjectCollection
metadata:
  name: settings
spec:
  providerConfigRef: {name: remote}
  observeObjects:
    apiVersion: v1
    kind: ConfigMap
    namespace: shop
    selector: {matchLabels: {kubernetes.crossplane.io/managed: "true"}}
---
apiVersion: kubernetes.m.crossplane.io/v1alpha1
kind: Object
metadata:
  namespace: default
  name: held
  annotations: {crossplane.io/paused: "true"}
spec:
  providerConfigRef: {kind: ClusterProviderConfig, name: remote}
  forProvider:
    manifest: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}
END
kubectl wait --for=condition=Ready observedobjectcollections.kubernetes.crossplane.io/settings --timeout=1m
`

// TestRestore exports a control plane by the commands of docs/how-to/operate-a-fleet.md and restores it into another
// one, which gives all that is restored other UIDs. No resource of the target is made again or deleted, and each is
// cared for as before: what Crossplane has composed, what refers to others, and the objects of consumers.
func TestRestore(t *testing.T) {
	page := filepath.Join(top, "docs", "how-to", "operate-a-fleet.md")
	files, shop := t.TempDir(), openHats(t)
	var before map[string]types.UID
	var specs map[string]map[string]any
	t.Run("Old", func(t *testing.T) { // At its end the control plane is gone.
		d := newDesk(t)
		d.fill(t)
		shop.publish(t, d)
		before, specs = shop.resources(t), d.specs(t)
		d.RunAll(t, guide.Commands(t, page, "## Back up"))
		d.Run(t, "cp *.json "+files)
	})
	t.Run("New", func(t *testing.T) {
		d := idleDesk(t)
		d.compose(t)
		d.Run(t, "cp "+files+"/*.json .")
		m := target.Audit(t).Mark()
		d.restore(t, guide.Commands(t, page, "## Restore"))
		d.awaitRestored(t)
		shop.awaitSynced(t, "M")
		if diff := cmp.Diff(before, shop.resources(t)); diff != "" {
			t.Errorf("resources on the target: -before, +restored:\n%s", diff)
		}
		if diff := cmp.Diff(specs, d.specs(t)); diff != "" {
			t.Errorf("specs: -before, +restored:\n%s", diff)
		}
		if again := madeAgain(t, m); len(again) > 0 {
			t.Errorf("the restore has made and deleted resources:\n%s", again)
		}
		d.wantOwned(t)
	})
}

// fill makes resources of all kinds but PublishedResource, in the way of other guides.
func (d *desk) fill(t *testing.T) {
	t.Helper()
	howTo := filepath.Join(top, "docs", "how-to")
	d.RunAll(t, guide.Path(t, filepath.Join(top, "README.md"), "## A first Object"))
	d.Run(t, "kubectl apply -f examples/providerconfig/remote-cluster.yaml")
	d.follow(t, filepath.Join(howTo, "order-objects.md"), "## Wait")
	d.follow(t, filepath.Join(howTo, "order-objects.md"), "## Copy a value")
	d.follow(t, filepath.Join(howTo, "schedule-an-application.md"), "## Label clusters")
	d.follow(t, filepath.Join(howTo, "schedule-an-application.md"), "## Create")
	d.compose(t)
	d.Run(t, "kubectl apply -f examples/quickstart/greeting.yaml\n"+
		"kubectl wait --for=condition=Ready greetings.platform.example.org/morning --timeout=2m\n"+everyKind)
}

// compose runs a Crossplane that composes Greetings.
func (d *desk) compose(t *testing.T) {
	t.Helper()
	crossplane.Start(t, local.StartCrossplane, d.control.Config())
	crossplane.RunFunctions(t, d.c, crossplane.StartRegistry(t))
	d.follow(t, filepath.Join(top, "docs", "tutorials", "quickstart.md"), "### Define the API")
}

// restore follows the guide. The provider starts where the guide says so.
func (d *desk) restore(t *testing.T, steps []string) {
	t.Helper()
	if len(steps) != 6 {
		t.Fatalf("want six blocks of commands, got %q", steps)
	}
	// The variable lives as long as the shell of a user.
	_, clean, _ := strings.Cut(steps[0], "\nclean=")
	clean, _, _ = strings.Cut(clean, "\n")
	clean = "clean=" + clean + "\n"
	d.RunAll(t, []string{steps[0], clean + steps[1]})
	// The source of a reference comes back by other means, as it was.
	d.Run(t, `kubectl apply -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata:
  namespace: default
  name: site
  finalizers: [kubernetes.crossplane.io/referred-by-object-3a4f6a1e-8d47-4d0e-9c5b-111111111111]
data: {region: us}
END`)
	d.Run(t, steps[2])
	d.start(t, provider.Options{})
	d.RunAll(t, steps[3:5])
	for _, config := range []string{"config=kcp", "config="} { // KubernetesApplications name none.
		d.Run(t, strings.Replace(steps[4], "config=remote", config, 1))
	}
	d.Run(t, clean+steps[5])
}

// awaitRestored waits until all that was restored is as it was, but for what was paused.
func (d *desk) awaitRestored(t *testing.T) {
	t.Helper()
	d.Run(t, `kubectl wait --for=condition=Ready objects.kubernetes.crossplane.io --all --timeout=1m
kubectl wait --for=condition=Ready objects.kubernetes.m.crossplane.io/hello --timeout=1m
kubectl wait --for=condition=Ready observedobjectcollections.kubernetes.crossplane.io/settings --timeout=1m
kubectl wait --for=condition=Healthy kubernetesapplications.workload.crossplane.io/web -n complex --timeout=1m
kubectl wait --for=condition=Ready greetings.platform.example.org/morning --timeout=2m
kubectl wait --for=condition=Synced=False objects.kubernetes.m.crossplane.io/held --timeout=1m`)
}

// specs returns the specs of all that the provider reconciles, by kind and name.
func (d *desk) specs(t *testing.T) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for apiVersion, kinds := range map[string][]string{
		"kubernetes.crossplane.io/v1alpha2":   {"Object"},
		"kubernetes.crossplane.io/v1alpha1":   {"ObservedObjectCollection", "ProviderConfig"},
		"kubernetes.m.crossplane.io/v1alpha1": {"Object", "ClusterProviderConfig", "ProviderConfig"},
		"workload.crossplane.io/v1alpha1":     {"KubernetesApplication", "KubernetesApplicationResource"},
		"syncagent.kcp.io/v1alpha1":           {"PublishedResource"},
		"platform.example.org/v1alpha1":       {"Greeting"},
	} {
		for _, kind := range kinds {
			for _, u := range kube.ListOf(t, d.c, apiVersion, kind) {
				found[kind+" "+u.GetName()], _, _ = unstructured.NestedMap(u.Object, "spec")
			}
		}
	}
	return found
}

// madeAgain returns the requests since a mark by which the provider has made or deleted resources of the target.
func madeAgain(t *testing.T, m kube.Mark) kube.Requests {
	t.Helper()
	return target.Audit(t).Since(m).By(user).That(func(e local.AuditEvent) bool {
		return e.Verb == "create" || e.Verb == "delete"
	})
}

// wantOwned fails the test unless what was restored is cared for and deleted as before, and holds nothing for good.
func (d *desk) wantOwned(t *testing.T) {
	t.Helper()
	d.Run(t, `kubectl patch greetings.platform.example.org morning --type=merge -p '{"spec":{"message":"good evening"}}'
kubectl --kubeconfig remote.kubeconfig wait configmap/morning --timeout=1m \
  --for=jsonpath='{.data.message}'='good evening'
kubectl delete greetings.platform.example.org morning --cascade=foreground --timeout=2m
kubectl --kubeconfig remote.kubeconfig wait --for=delete configmap/morning --timeout=10s
kubectl delete objects.kubernetes.crossplane.io shop-settings shop-web shop --timeout=2m
kubectl --kubeconfig remote.kubeconfig wait --for=delete namespace/shop --timeout=1m
kubectl delete configmap site --timeout=10s
kubectl delete kubernetesapplications.workload.crossplane.io web -n complex --timeout=2m
kubectl --kubeconfig remote.kubeconfig wait --for=delete namespace/web --timeout=1m`)
}

// A hatShop publishes Hats of the target to a workspace, where a consumer has one.
type hatShop struct {
	admin, consumer *rest.Config
	path            string
}

func openHats(t *testing.T) *hatShop {
	t.Helper()
	s := &hatShop{}
	s.path, s.admin = workspaces.Workspace(t)
	_, s.consumer = workspaces.Workspace(t)
	kube.Create(t, kcp.Client(t, s.admin), kcp.Export(exportName))
	kube.Create(t, target.Client(t), build.Definition(hatKind.Group, "hats"))
	return s
}

// publish publishes Hats, and waits until that of the consumer has a copy.
func (s *hatShop) publish(t *testing.T, d *desk) {
	t.Helper()
	spec := build.FromSecret(restoredNamespace, "kcp")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName}}
	o := &v1alpha1.PublishedResource{ObjectMeta: build.Meta("", "hats")}
	o.Spec.ProviderConfigReference = &v1alpha1.ConfigReference{Name: "kcp"}
	o.Spec.ServiceClusterConfigReference = &v1alpha1.ConfigReference{Name: "remote"}
	o.Spec.Resource = v1alpha1.SourceResource{APIGroup: hatKind.Group, Kind: "Hat"}
	agent := kcp.ServiceAccount(t, s.admin, "agent", kcp.AgentRules(exportName)...)
	kube.Create(t, d.c, build.Credentials(restoredNamespace, "kcp", kube.Kubeconfig(t, agent)),
		build.ClusterConfig("kcp", spec), o)
	kcp.AwaitBound(t, s.consumer, kcp.Bind(t, s.consumer, s.path, exportName))
	hat := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": "L"}}}
	hat.SetGroupVersionKind(hatKind)
	hat.SetNamespace(metav1.NamespaceDefault)
	hat.SetName("top")
	kcp.CreateServed(t, s.consumer, hat)
	s.awaitCopy(t, "L")
}

// awaitSynced waits until a change of the consumer reaches the copy.
func (s *hatShop) awaitSynced(t *testing.T, size string) {
	t.Helper()
	hat := &unstructured.Unstructured{}
	hat.SetGroupVersionKind(hatKind)
	hat.SetNamespace(metav1.NamespaceDefault)
	hat.SetName("top")
	kube.Patch(t, kcp.Client(t, s.consumer), hat, `{"spec":{"size":"`+size+`"}}`)
	s.awaitCopy(t, size)
}

// awaitCopy waits until the only copy has a size.
func (s *hatShop) awaitCopy(t *testing.T, size string) {
	t.Helper()
	kube.Eventually(t, "the only copy to have size "+size, func() (bool, string) {
		copies := s.copies(t)
		got := ""
		if len(copies) == 1 {
			got, _, _ = unstructured.NestedString(copies[0].Object, "spec", "size")
		}
		return got == size, fmt.Sprintf("%d copies, the first of size %s", len(copies), got)
	})
}

func (*hatShop) copies(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	return kube.ListOf(t, target.Client(t), hatKind.GroupVersion().String(), hatKind.Kind)
}

// resources returns the UIDs of all that the provider has made on the target, by kind and name.
func (s *hatShop) resources(t *testing.T) map[string]types.UID {
	t.Helper()
	found := map[string]types.UID{}
	all := s.copies(t)
	for _, kind := range []string{"ConfigMap", "Namespace"} {
		all = append(all, kube.ListOf(t, target.Client(t), "v1", kind)...)
	}
	for _, u := range all {
		found[u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName()] = u.GetUID()
	}
	return found
}
