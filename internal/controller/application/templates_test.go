package application_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
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

// TestOneCluster shows that all of an application is on one of the clusters it might be on, and that what is there
// names the KubernetesApplicationResource that has made it.
func TestOneCluster(t *testing.T) {
	w := unconnected(t)
	for _, name := range []string{"one", "two", "three"} {
		w.connect(t, name, good(t))
	}
	names := []string{"a", "b", "c", "d", "e", "f"}
	app := w.application("web")
	for _, name := range names {
		app.Spec.ResourceTemplates = append(app.Spec.ResourceTemplates, w.settings(name))
	}
	w.submit(t, app)
	for _, name := range names {
		r := w.resource(t, name)
		if r.Spec.ClusterRef == nil || *r.Spec.ClusterRef != *app.Spec.ClusterRef {
			t.Errorf("%s: want cluster %v, got %v", name, app.Spec.ClusterRef, r.Spec.ClusterRef)
		}
		got := w.configMap(t, name).GetAnnotations()[workloadv1alpha1.AnnotationKeyResourceUID]
		if got != string(r.GetUID()) {
			t.Errorf("%s: want UID %s in the annotation, got %q", name, r.GetUID(), got)
		}
	}
}

// TestSecretOfAnotherNamespace shows that Secrets come from the namespace of the application only.
func TestSecretOfAnotherNamespace(t *testing.T) {
	w := newWorld(t)
	kube.Create(t, w.c, secret(local.Namespace(t), "sql", "password", "foreign"))
	app := w.application("web", build.ResourceTemplate("a", build.ConfigMap(w.tns, "a"), "sql"))
	kube.Create(t, w.c, app)
	w.awaitResource(t, "a", workloadv1alpha1.StateScheduled, workloadv1alpha1.ReasonWaitingForSecret)
	kube.Create(t, w.c, secret(w.ns, "sql", "password", "own"))
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	w.awaitCopy(t, "a-sql", map[string]string{"password": "own"})
}

// TestBundle shows that an application of many resources is submitted, and that at rest it costs no request.
func TestBundle(t *testing.T) {
	w := newWorld(t)
	var all []workloadv1alpha1.ResourceTemplate
	for i := range 25 {
		name := fmt.Sprintf("web-%d", i)
		all = append(all, w.settings(name), build.ResourceTemplate("deployed-"+name, build.Deployment(w.tns, name)))
	}
	w.submit(t, w.application("gitlab", all...))
	w.atRest(t)
}

// atRest waits until the provider asks nothing in the namespaces of a world while its queues are passed, and checks
// that this stays so. What other tests have left behind may still be tried in theirs.
func (w world) atRest(t *testing.T) {
	t.Helper()
	w.counted(t)
	l, r := local.Audit(t), target.Audit(t)
	var lm, rm kube.Mark
	asked := func() (bool, string) {
		all := append(in(l.Since(lm).By(user), w.ns), in(r.Since(rm).By(user), w.tns)...)
		return len(all) == 0, all.String()
	}
	kube.Eventually(t, "no request", func() (bool, string) {
		lm, rm = l.Mark(), r.Mark()
		passQueues(t)
		return asked()
	})
	kube.Holds(t, "no request", asked, func() { passQueues(t) })
}

// counted waits until the ProviderConfig of a world says how many use it, which it does some seconds later.
func (w world) counted(t *testing.T) {
	t.Helper()
	pc := &mpcv1alpha1.ProviderConfig{ObjectMeta: build.Meta(w.ns, w.ns)}
	kube.Await(t, w.c, pc, "all users counted", func() (bool, string) {
		usages := &mpcv1alpha1.ProviderConfigUsageList{}
		err := w.c.List(t.Context(), usages, client.InNamespace(w.ns))
		return err == nil && pc.Status.Users == int64(len(usages.Items)),
			fmt.Sprintf("%d of %d, %v", pc.Status.Users, len(usages.Items), err)
	})
}

// in returns the requests in a namespace.
func in(r kube.Requests, namespace string) kube.Requests {
	var out kube.Requests
	for _, e := range r {
		if e.Namespace == namespace {
			out = append(out, e)
		}
	}
	return out
}
