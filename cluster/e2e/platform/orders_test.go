package platform

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// Kinds of the control plane.
var (
	networkings = schema.GroupVersionKind{
		Group: "capabilities.m.morningspace.io", Version: "v1alpha1", Kind: "Networking",
	}
	objects = schema.GroupVersionKind{Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: "Object"}
)

// A consumer is a workspace with orders in it.
type consumer struct {
	client.Client

	name    string // of its kubeconfig
	cluster string // the logical cluster, which is the namespace of the copies, too
}

// consumer returns the workspace of a path.
func (b *bed) consumer(t *testing.T, path string) consumer {
	t.Helper()
	in := consumer{Client: kcp.Client(t, workspaces.Config(path)), name: path[strings.LastIndex(path, ":")+1:]}
	ns := &corev1.Namespace{}
	kube.Get(t, in, types.NamespacedName{Name: metav1.NamespaceDefault}, ns)
	in.cluster = ns.Annotations["kcp.io/cluster"]
	return in
}

// bind binds the API in the workspace, as the guide does.
func (b *bed) bind(t *testing.T, in consumer) {
	t.Helper()
	b.Run(t, strings.ReplaceAll(
		`kubectl --kubeconfig=TEAM.kubeconfig apply -f examples/platform/binding.yaml
		kubectl --kubeconfig=TEAM.kubeconfig wait --for=condition=InitialBindingCompleted apibindings/platform --timeout=60s`,
		"TEAM", in.name))
}

// order returns an order of a consumer.
func order(name string) *unstructured.Unstructured {
	u := build.Resource(networkings.GroupVersion().String(), networkings.Kind, metav1.NamespaceDefault, name)
	u.Object["spec"] = map[string]any{}
	return u
}

// await waits until a condition of an order has a status, and a message with some text, as the consumer sees it.
func (in consumer) await(t *testing.T, name, of, status string, texts ...string) {
	t.Helper()
	o := order(name)
	kube.Await(t, in, o, fmt.Sprintf("%s of order %s to be %s: %s", of, name, status, texts), func() (bool, string) {
		is, why := kube.Condition(o, of)
		lacks := slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(why, text) })
		return is == status && !lacks, fmt.Sprint(o.Object["status"])
	})
}

// list returns the resources of a kind in a namespace.
func list(t *testing.T, c client.Client, of schema.GroupVersionKind, namespace string) []unstructured.Unstructured {
	t.Helper()
	return kube.ListOf(t, c, of.GroupVersion().String(), of.Kind, client.InNamespace(namespace))
}
