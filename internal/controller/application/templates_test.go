package application_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestTemplates shows that resources follow templates that are added, changed and removed after the creation of their
// application.
func TestTemplates(t *testing.T) {
	w := newWorld(t)
	app := w.application("web", w.settings("a", "color", "blue"), w.settings("b"))
	w.submit(t, app)

	r := w.resource(t, "a")
	if !metav1.IsControlledBy(r, app) {
		t.Errorf("a must be controlled by its application: %v", r.GetOwnerReferences())
	}
	if got := *r.Spec.ClusterRef; got != *app.Spec.ClusterRef {
		t.Errorf("all resources go to the cluster of the application %v, got %v", *app.Spec.ClusterRef, got)
	}
	const uid = "kubernetesapplicationresource.workload.crossplane.io/uid"
	if got := w.configMap(t, "a").GetAnnotations()[uid]; got != string(r.GetUID()) {
		t.Errorf("annotation of the remote resource: want the UID %s, got %q", r.GetUID(), got)
	}
	change(t, w.c, r, func(r *resource) { r.Labels["mine"] = "stays" })

	change(t, w.c, app, func(app *application) {
		changed, added := w.settings("a", "color", "red"), w.settings("c")
		changed.Metadata.Labels = map[string]string{"role": "front"}
		changed.Metadata.Annotations = map[string]string{"note": "new"}
		app.Spec.ResourceTemplates = []workloadv1alpha1.ResourceTemplate{changed, added}
	})
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	if app.Status.DesiredResources != 2 || app.Status.SubmittedResources != 2 {
		t.Errorf("want 2 of 2 resources submitted: %s", said(app))
	}
	kube.Eventually(t, "resources as the templates are", func() (bool, string) {
		a, b, c := w.configMap(t, "a"), w.configMap(t, "b"), w.configMap(t, "c")
		return a.Data["color"] == "red" && b == nil && c != nil, said(app)
	})
	r = w.resource(t, "a")
	if diff := cmp.Diff(map[string]string{"role": "front", "mine": "stays"}, r.GetLabels()); diff != "" {
		t.Errorf("labels of a follow the template, those of others stay: -want, +got:\n%s", diff)
	}
	if r.GetAnnotations()["note"] != "new" {
		t.Errorf("annotations of a follow the template: %v", r.GetAnnotations())
	}
}
