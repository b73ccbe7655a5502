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

var kongs = schema.GroupVersionResource{Group: "charts.helm.k8s.io", Version: "v1alpha1", Resource: "kongs"}

// An operator does what the containers of Kong's operator would, as those of KWOK do nothing: it installs a proxy for
// each Kong and uninstalls it when the Kong is deleted, and it does so only while its own Deployment is available.
// Without it a deleted Kong stays.
type operator struct {
	cs  kubernetes.Interface
	dyn dynamic.Interface
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
			o.work(ctx)
			o.workOnElastic(ctx)
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

func (o operator) work(ctx context.Context) {
	if runs, _ := o.available(ctx, operatorsNamespace, "kong-operator"); !runs {
		return
	}
	list, err := o.dyn.Resource(kongs).Namespace(kongsNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		if k := &list.Items[i]; k.GetDeletionTimestamp() != nil {
			o.uninstall(ctx, k)
		} else {
			o.install(ctx, k)
		}
	}
}

func (o operator) install(ctx context.Context, k *unstructured.Unstructured) {
	c := o.dyn.Resource(kongs).Namespace(k.GetNamespace())
	if !slices.Contains(k.GetFinalizers(), uninstallFinalizer) {
		k.SetFinalizers(append(k.GetFinalizers(), uninstallFinalizer))
		_, _ = c.Update(ctx, k, metav1.UpdateOptions{})
		return
	}
	runs, err := o.available(ctx, k.GetNamespace(), k.GetName())
	if apierrors.IsNotFound(err) {
		_, _ = o.cs.AppsV1().Deployments(k.GetNamespace()).Create(ctx, proxyOf(k), metav1.CreateOptions{})
		return
	}
	if !runs || deployed(k) {
		return
	}
	k.Object["status"] = map[string]any{
		"conditions":      []any{map[string]any{"type": "Deployed", "status": "True", "reason": "InstallSuccessful"}},
		"deployedRelease": map[string]any{"name": k.GetName()},
	}
	_, _ = c.UpdateStatus(ctx, k, metav1.UpdateOptions{})
}

func (o operator) uninstall(ctx context.Context, k *unstructured.Unstructured) {
	err := o.cs.AppsV1().Deployments(k.GetNamespace()).Delete(ctx, k.GetName(), metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		return // It is seen to be gone at another beat.
	}
	k.SetFinalizers(slices.DeleteFunc(k.GetFinalizers(), func(f string) bool { return f == uninstallFinalizer }))
	_, _ = o.dyn.Resource(kongs).Namespace(k.GetNamespace()).Update(ctx, k, metav1.UpdateOptions{})
}

// deployed reports whether the operator has done all that a Kong asks for.
func deployed(k *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(k.Object, "status", "deployedRelease", "name")
	return name != ""
}

func proxyOf(k *unstructured.Unstructured) *appsv1.Deployment {
	labels := map[string]string{"app": k.GetName()}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: k.GetName()},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeName:   nodeName,
					Containers: []corev1.Container{{Name: "proxy", Image: "registry.example.org/kong:2.3"}},
				},
			},
		},
	}
}
