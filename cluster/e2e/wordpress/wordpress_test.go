package wordpress

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// node is the name of the one node of each cluster.
const node = "node"

// schedule puts all pods of a cluster on its node until the test ends, in the place of a scheduler.
func schedule(t *testing.T, c client.Client) {
	t.Helper()
	create(t, c, &corev1.Node{ObjectMeta: build.Meta("", node)})
	ctx, cancel := context.WithCancel(context.Background())
	var scheduling sync.WaitGroup
	scheduling.Go(func() {
		for ctx.Err() == nil {
			bindAll(ctx, c)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		scheduling.Wait()
	})
}

// bindAll binds the pods that have no node. One that cannot be bound is tried again with the next round.
func bindAll(ctx context.Context, c client.Client) {
	pods := &corev1.PodList{}
	if c.List(ctx, pods) != nil {
		return
	}
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName == "" {
			to := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
			_ = c.SubResource("binding").Create(ctx, &pods.Items[i], to)
		}
	}
}

func create(t *testing.T, c client.Client, objs ...client.Object) {
	t.Helper()
	for _, o := range objs {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("cannot create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// example returns the application of the example, under a name of its own.
func example(t *testing.T, name string) *workloadv1alpha1.KubernetesApplication {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "applications", "wordpress.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	app := &workloadv1alpha1.KubernetesApplication{}
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)).Decode(app); err != nil {
		t.Fatal(err)
	}
	for i := range app.Spec.ResourceTemplates {
		app.Spec.ResourceTemplates[i].Metadata.Name += "-" + name
	}
	app.SetName(name)
	return app
}

// TestTwoClusters shows that two applications of the example go to a cluster each, become available there, show so on
// the control plane, and leave nothing behind.
func TestTwoClusters(t *testing.T) {
	control.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
	c := control.Client(t, apis.AddToScheme)
	create(t, c, &corev1.Namespace{ObjectMeta: build.Meta("", "complex")},
		&corev1.Secret{ObjectMeta: build.Meta("complex", "sql"), Data: map[string][]byte{"password": []byte("p")}})
	clusters := map[string]*kube.Server{"north": &north, "south": &south}
	for name, s := range clusters {
		schedule(t, s.Client(t))
		pc := &mpcv1alpha1.ProviderConfig{
			ObjectMeta: build.Meta("complex", name), Spec: build.FromSecret("complex", name),
		}
		pc.SetLabels(map[string]string{"app": "wordpress-demo"})
		kubeconfig := kube.Kubeconfig(t, s.User(t, "provider", admins))
		create(t, c, &corev1.Secret{
			ObjectMeta: build.Meta("complex", name), Data: map[string][]byte{"kubeconfig": kubeconfig},
		}, pc)
	}
	program.Start(t, control.User(t, "provider", admins), provider.Options{})

	first, second := example(t, "first"), example(t, "second")
	create(t, c, first)
	awaitSubmitted(t, c, first)
	create(t, c, second)
	awaitSubmitted(t, c, second)
	if first.Spec.ClusterRef.Name != "north" || second.Spec.ClusterRef.Name != "south" {
		t.Errorf("want north and south, got %s and %s", first.Spec.ClusterRef.Name, second.Spec.ClusterRef.Name)
	}
	for _, app := range []*workloadv1alpha1.KubernetesApplication{first, second} {
		awaitAvailable(t, c, app)
	}
	for _, app := range []*workloadv1alpha1.KubernetesApplication{first, second} {
		s := clusters[app.Spec.ClusterRef.Name]
		kube.Delete(t, c, app)
		kube.Eventually(t, "the application to be gone", func() (bool, string) {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(app), app)
			return apierrors.IsNotFound(err), fmt.Sprintf("%+v", app.Status)
		})
		ns := &corev1.Namespace{}
		if err := s.Client(t).Get(t.Context(), types.NamespacedName{Name: "wordpress"},
			ns); !apierrors.IsNotFound(err) {
			t.Errorf("namespace wordpress must be gone: %v", err)
		}
	}
}

func awaitSubmitted(t *testing.T, c client.Client, app *workloadv1alpha1.KubernetesApplication) {
	t.Helper()
	kube.Await(t, c, app, app.GetName()+" to be submitted", func() (bool, string) {
		return app.Status.State == workloadv1alpha1.StateSubmitted, fmt.Sprintf("%+v", app.Status)
	})
}

// awaitAvailable waits until the status of the remote Deployment, as the control plane shows it, says that it is
// available.
func awaitAvailable(t *testing.T, c client.Client, app *workloadv1alpha1.KubernetesApplication) {
	t.Helper()
	r := &workloadv1alpha1.KubernetesApplicationResource{}
	key := types.NamespacedName{Namespace: app.GetNamespace(), Name: "wordpress-demo-deployment-" + app.GetName()}
	kube.Eventually(t, "the Deployment of "+app.GetName()+" to be available", func() (bool, string) {
		if err := c.Get(t.Context(), key, r); err != nil || r.Status.Remote == nil {
			return false, fmt.Sprintf("no status: %v", err)
		}
		status := struct {
			AvailableReplicas int `json:"availableReplicas"`
		}{}
		err := json.Unmarshal(r.Status.Remote.Raw, &status)
		return err == nil && status.AvailableReplicas == 1, string(r.Status.Remote.Raw)
	})
}
