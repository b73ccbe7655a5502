package olm

import (
	"context"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	operatorsNamespace = "operators"
	kongsNamespace     = "default"
	nodeName           = "kwok"
	// uninstallFinalizer is what operators made of charts have on their resources.
	uninstallFinalizer = "helm.sdk.operatorframework.io/uninstall-release"
	// beat is how often the operator looks.
	beat = 50 * time.Millisecond
)

var (
	kongs           = schema.GroupVersionResource{Group: "charts.helm.k8s.io", Version: "v1alpha1", Resource: "kongs"}
	elasticsearches = schema.GroupVersionResource{
		Group: "elasticsearch.k8s.elastic.co", Version: "v1", Resource: "elasticsearches",
	}
	kibanas = schema.GroupVersionResource{Group: "kibana.k8s.elastic.co", Version: "v1", Resource: "kibanas"}
)

// An operator does what the containers of the operators of Kong and Elastic would, as those of KWOK do nothing: it runs
// each of their resources and says how it is, while their Deployment is available. What it runs belongs to the
// resource. Without its operator a deleted Kong stays.
type operator struct {
	dyn dynamic.Interface
	cs  kubernetes.Interface
	// known has the Deployments without asking for them, which would keep the server busy all the time.
	known client.Reader
}

// runOperator runs the operator until the test ends.
func runOperator(t *testing.T) {
	t.Helper()
	cfg := target.User(t, "kong-operator", admins)
	o := operator{
		cs: kubernetes.NewForConfigOrDie(cfg), dyn: dynamic.NewForConfigOrDie(cfg),
		known: kube.Follow(t, cfg, cache.Options{}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			// An error is another's write at the same time, or a kind that has gone: the next beat will see.
			if runs, _ := o.available(ctx, operatorsNamespace, "kong-operator"); runs {
				o.serve(ctx, kongs, o.kong)
			}
			if runs, _ := o.available(ctx, operatorsNamespace, "elastic-operator"); runs {
				o.serve(ctx, elasticsearches, o.elasticsearch)
				o.serve(ctx, kibanas, o.kibana)
			}
			select {
			case <-ctx.Done():
			case <-time.After(beat):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// available reports whether a Deployment is to stay and has pods that run. It is an error if there is none.
func (o operator) available(ctx context.Context, namespace, name string) (bool, error) {
	d := &appsv1.Deployment{}
	err := o.known.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, d)
	return err == nil && d.DeletionTimestamp == nil && d.Status.AvailableReplicas > 0, err
}

// serve runs the resources of a kind, and sets their status once they run.
func (o operator) serve(ctx context.Context, gvr schema.GroupVersionResource,
	status func(context.Context, *unstructured.Unstructured) map[string]any,
) {
	c := o.dyn.Resource(gvr).Namespace(kongsNamespace)
	list, err := c.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		r := &list.Items[i]
		if finalizers := r.GetFinalizers(); gvr == kongs &&
			slices.Contains(finalizers, uninstallFinalizer) == (r.GetDeletionTimestamp() != nil) {
			// It has to have the finalizer, or not to have it any more.
			others := slices.DeleteFunc(finalizers, func(f string) bool { return f == uninstallFinalizer })
			if r.GetDeletionTimestamp() == nil {
				others = append(others, uninstallFinalizer)
			}
			r.SetFinalizers(others)
			_, _ = c.Update(ctx, r, metav1.UpdateOptions{})
			continue
		}
		d := proxyOf(r, gvr.Resource+"-"+r.GetName())
		runs, err := o.available(ctx, r.GetNamespace(), d.GetName())
		switch {
		case apierrors.IsNotFound(err) && r.GetDeletionTimestamp() == nil:
			_, _ = o.cs.AppsV1().Deployments(r.GetNamespace()).Create(ctx, d, metav1.CreateOptions{})
		case runs && r.Object["status"] == nil:
			r.Object["status"] = status(ctx, r)
			_, _ = c.UpdateStatus(ctx, r, metav1.UpdateOptions{})
		}
	}
}

func (operator) kong(_ context.Context, k *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"conditions":      []any{map[string]any{"type": "Deployed", "status": "True", "reason": "InstallSuccessful"}},
		"deployedRelease": map[string]any{"name": k.GetName()},
	}
}

func (operator) elasticsearch(context.Context, *unstructured.Unstructured) map[string]any {
	return map[string]any{"phase": "Ready", "health": "green"}
}

func (o operator) kibana(ctx context.Context, k *unstructured.Unstructured) map[string]any {
	name, _, _ := unstructured.NestedString(k.Object, "spec", "elasticsearchRef", "name")
	c := o.dyn.Resource(elasticsearches).Namespace(k.GetNamespace())
	if _, err := c.Get(ctx, name, metav1.GetOptions{}); err != nil {
		return map[string]any{"associationStatus": "Pending", "health": "red"}
	}
	return map[string]any{"associationStatus": "Established", "health": "green"}
}

// proxyOf returns the Deployment that runs a resource, and goes with it.
func proxyOf(r *unstructured.Unstructured, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r, r.GroupVersionKind())},
		},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeName:   nodeName,
					Containers: []corev1.Container{{Name: "proxy", Image: "registry.example.org/proxy:1"}},
				},
			},
		},
	}
}
