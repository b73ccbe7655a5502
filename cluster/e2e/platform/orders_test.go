package platform

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetGroupVersionKind(networkings)
	u.SetNamespace(metav1.NamespaceDefault)
	u.SetName(name)
	return u
}

// order creates an order.
func (in consumer) order(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	kube.Create(t, in, o)
}

// remove deletes an order, and waits until it is gone.
func (in consumer) remove(t *testing.T, name string) {
	t.Helper()
	if err := in.Delete(t.Context(), order(name)); err != nil {
		t.Fatal(err)
	}
	in.awaitGone(t, name)
}

func (in consumer) awaitGone(t *testing.T, name string) {
	t.Helper()
	kube.Eventually(t, "order "+name+" to be gone", func() (bool, string) {
		o := order(name)
		err := in.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), fmt.Sprint(o.Object["metadata"], o.Object["status"])
	})
}

// await waits until a condition of an order has a status, and a message with some text, as the consumer sees it.
func (in consumer) await(t *testing.T, name, of, status string, texts ...string) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%s of order %s to be %s: %s", of, name, status, texts), func() (bool, string) {
		o := order(name)
		if err := in.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		return holds(o, of, status, texts...), fmt.Sprint(o.Object["status"])
	})
}

// holds reports whether a condition has a status, and a message with some texts.
func holds(u *unstructured.Unstructured, of, status string, texts ...string) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if !ok || m["type"] != of || m["status"] != status {
			continue
		}
		for _, text := range texts {
			if !strings.Contains(fmt.Sprint(m["message"]), text) {
				return false
			}
		}
		return true
	}
	return false
}

// list returns the resources of a kind in a namespace.
func list(t *testing.T, c client.Client, of schema.GroupVersionKind, namespace string) []unstructured.Unstructured {
	t.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(of.GroupVersion().WithKind(of.Kind + "List"))
	kube.List(t, c, l, client.InNamespace(namespace))
	return l.Items
}
