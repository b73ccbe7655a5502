package application_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// holdOn is a finalizer of the tests.
const holdOn = "example.org/hold-on"

// hold keeps a resource on the target from going.
func (w world) hold(t *testing.T, name string) {
	t.Helper()
	change(t, w.tc, w.configMap(t, name), func(cm *corev1.ConfigMap) { cm.SetFinalizers([]string{holdOn}) })
}

// let lets it go.
func (w world) let(t *testing.T, name string) {
	t.Helper()
	change(t, w.tc, w.configMap(t, name), func(cm *corev1.ConfigMap) { cm.SetFinalizers(nil) })
}

// TestForegroundDeletion shows that an application outlives its resources, and these what they have made, whatever
// propagation is asked for.
func TestForegroundDeletion(t *testing.T) {
	t.Parallel()
	for _, p := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			kube.Create(t, w.c, secret(w.ns, "sql", "password", "p"))
			app := w.application("web", build.ResourceTemplate("a", build.ConfigMap(w.tns, "a"), "sql"),
				w.settings("b"))
			w.submit(t, app)
			w.hold(t, "a")
			if err := w.c.Delete(t.Context(), app, client.PropagationPolicy(p)); err != nil {
				t.Fatal(err)
			}
			awaitState(t, w.c, app, workloadv1alpha1.StateDeleting)
			w.awaitResource(t, "a", workloadv1alpha1.StateDeleting, xpv2.ReasonReconcileSuccess)
			kube.AwaitGone(t, w.tc, &corev1.ConfigMap{ObjectMeta: build.Meta(w.tns, "b")})
			kube.Holds(t, "the application, the resource that is held and its Secret stay",
				func() (bool, string) {
					if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
						return false, err.Error()
					}
					w.resource(t, "a")
					w.awaitCopy(t, "a-sql", map[string]string{"password": "p"})
					return app.Status.State == workloadv1alpha1.StateDeleting, said(app)
				}, func() { passQueues(t) })
			w.let(t, "a")
			kube.AwaitGone(t, w.c, app)
			kube.AwaitGone(t, w.tc, secret(w.tns, "a-sql"), &corev1.ConfigMap{ObjectMeta: build.Meta(w.tns, "a")})
			list := &workloadv1alpha1.KubernetesApplicationResourceList{}
			if err := w.c.List(t.Context(), list, client.InNamespace(w.ns)); err != nil || len(list.Items) > 0 {
				t.Errorf("no resource must be left: %v, %v", list.Items, err)
			}
		})
	}
}

// TestPruneWaits shows that a resource whose template is removed is waited for, and that its name is free for another
// after that.
func TestPruneWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.application("web", w.settings("a"), w.settings("b"))
	w.submit(t, app)
	w.hold(t, "b")
	change(t, w.c, app, func(app *application) { app.Spec.ResourceTemplates = app.Spec.ResourceTemplates[:1] })
	kube.Await(t, w.c, app, "the application to wait", func() (bool, string) {
		c := app.GetCondition(xpv2.TypeSynced)
		return c.Reason == commonv1.ReasonWaitingForDeletion &&
			strings.HasSuffix(c.Message, ": b"), said(app)
	})
	if app.Status.DesiredResources != 1 || app.Status.SubmittedResources != 1 {
		t.Errorf("want 1 of 1 resources: %s", said(app))
	}
	other := build.ResourceTemplate("b", build.ConfigMap(w.tns, "another"))
	change(t, w.c, app, func(app *application) {
		app.Spec.ResourceTemplates = append(app.Spec.ResourceTemplates,
			other)
	})
	kube.Holds(t, "the other is not made yet",
		func() (bool, string) { return w.configMap(t, "another") == nil, "it is there" }, func() { passQueues(t) })
	w.let(t, "b")
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	if w.configMap(t, "another") == nil || w.configMap(t, "b") != nil {
		t.Error("want the resource of the new template, and not that of the old")
	}
}

// TestResourceIsMadeAgain shows that an application makes a resource again that somebody deletes, or changes.
func TestResourceIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	app := w.application("web", w.settings("a", "color", "blue"))
	w.submit(t, app)
	r := w.resource(t, "a")
	change(t, w.c, r, func(r *resource) { r.Spec.Template = w.settings("a", "color", "red").Spec.Template })
	kube.Eventually(t, "the template of the application", func() (bool, string) {
		r := w.resource(t, "a")
		return strings.Contains(string(r.Spec.Template.Raw), "blue") &&
			w.configMap(t, "a").Data["color"] == "blue", conditions(r)
	})
	kube.Delete(t, w.c, r)
	kube.Eventually(t, "another resource", func() (bool, string) {
		now := &resource{}
		err := w.c.Get(t.Context(), client.ObjectKeyFromObject(r), now)
		return err == nil && now.GetUID() != r.GetUID() &&
			now.Status.State == workloadv1alpha1.StateSubmitted, conditions(now)
	})
	if w.configMap(t, "a") == nil {
		t.Error("want the remote resource of the other")
	}
}

// TestClusterGoneForGood shows that a deleted application waits for a cluster that does not answer and says how to let
// it go, and goes when it is told to.
func TestClusterGoneForGood(t *testing.T) {
	t.Parallel()
	w := unconnected(t)
	proxy, cfg := kube.NewProxy(t, target.User(t, user, admins))
	w.connect(t, "doomed", kube.Kubeconfig(t, cfg))
	app := w.application("web", w.settings("a"))
	w.submit(t, app)
	kube.Update(t, w.c, secret(w.ns, "doomed-credentials", "kubeconfig", string(dead(t))))
	proxy.Cut(0)
	w.awaitResource(t, "a", workloadv1alpha1.StateSubmitted, "TargetUnreachable")
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	kube.Delete(t, w.c, app)
	r := w.awaitResource(t, "a", workloadv1alpha1.StateDeleting, "TargetUnreachable")
	if m := r.GetCondition(xpv2.TypeSynced).Message; !strings.Contains(m, "spec.unreachableTarget: Orphan") {
		t.Errorf("want a message that tells what to do, got %q", m)
	}
	kube.Holds(t, "the application waits", func() (bool, string) {
		err := w.c.Get(t.Context(), client.ObjectKeyFromObject(app), app)
		return err == nil && app.Status.State == workloadv1alpha1.StateDeleting, said(app)
	}, func() { passQueues(t) })
	change(t, w.c, app, func(app *application) { app.Spec.UnreachableTarget = "Orphan" })
	kube.AwaitGone(t, w.c, app)
	if w.configMap(t, "a") == nil {
		t.Error("what cannot be reached is left as it is")
	}
}

// TestNamespaceGoes shows that an application goes with its namespace, though its ProviderConfig and credentials go
// with it too.
func TestNamespaceGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kube.Create(t, w.c, secret(w.ns, "sql", "password", "p"))
	app := w.application("web", build.ResourceTemplate("a", build.ConfigMap(w.tns, "a"), "sql"), w.settings("b"))
	w.submit(t, app)
	kube.Delete(t, w.c, &corev1.Namespace{ObjectMeta: build.Meta("", w.ns)})
	kube.AwaitGone(t, w.c, app, &corev1.Namespace{ObjectMeta: build.Meta("", w.ns)})
	if w.configMap(t, "a") != nil || w.configMap(t, "b") != nil {
		t.Error("the remote resources must be gone")
	}
	kube.AwaitGone(t, w.tc, secret(w.tns, "a-sql"))
}

// TestLeavingIsNotSubmitted shows that a resource, or the copy of a Secret, which somebody deletes on the cluster, and
// a finalizer holds, makes an application not ready, which says what it waits for, and that it is made again when it
// is gone.
func TestLeavingIsNotSubmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kube.Create(t, w.c, secret(w.ns, "sql", "user", "admin"))
	app := w.application("web", w.settings("cool", "of", "web"), w.needing("front", "sql"))
	w.submit(t, app)
	cm, copied := &corev1.ConfigMap{ObjectMeta: build.Meta(w.tns, "cool")}, secret(w.tns, "front-sql")
	kube.Patch(t, w.tc, cm, `{"metadata":{"finalizers":["example.org/hold"]}}`)
	kube.Patch(t, w.tc, copied, `{"metadata":{"finalizers":["example.org/hold"]}}`)
	kube.Delete(t, w.tc, cm, copied)
	for _, name := range []string{"cool", "front"} {
		r := w.awaitResource(t, name, workloadv1alpha1.StateScheduled, commonv1.ReasonWaitingForDeletion)
		if m := r.GetCondition(xpv2.TypeSynced).Message; !strings.Contains(m, "finalizers: example.org/hold") ||
			r.GetCondition(xpv2.TypeReady).Status != corev1.ConditionFalse {
			t.Errorf("%s: want what it waits for, and not ready: %s", name, conditions(r))
		}
	}
	awaitState(t, w.c, app, workloadv1alpha1.StateScheduled)
	if m := app.GetCondition(xpv2.TypeReady).Message; !strings.Contains(m, "finalizers: example.org/hold") {
		t.Errorf("want what the application waits for: %s", said(app))
	}
	kube.Patch(t, w.tc, cm, `{"metadata":{"finalizers":null}}`)
	kube.Patch(t, w.tc, copied, `{"metadata":{"finalizers":null}}`)
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	w.awaitCopy(t, "front-sql", map[string]string{"user": "admin"})
	kube.Remove(t, w.c, app)
}

// TestLabelDoesNotStayOnCluster shows that drift is reverted by watch where admission on the cluster takes our label
// off, that the resource says so, and that its application is as ready as ever and leaves nothing behind.
func TestLabelDoesNotStayOnCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	probe := &corev1.ConfigMap{ObjectMeta: build.Meta(w.tns, "probe")}
	probe.SetLabels(map[string]string{commonv1.LabelKeyManaged: commonv1.LabelValueManaged})
	kube.Mutate(t, w.tc, w.tns, "configmaps", probe, func(u *unstructured.Unstructured) {
		unstructured.RemoveNestedField(u.Object, "metadata", "labels", commonv1.LabelKeyManaged)
	})
	app := w.application("web", w.settings("cool", "of", "web"))
	w.submit(t, app)
	r := w.awaitResource(t, "cool", workloadv1alpha1.StateSubmitted, commonv1.ReasonContested)
	if m := r.GetCondition(xpv2.TypeSynced).Message; !strings.Contains(m, commonv1.LabelKeyManaged) {
		t.Errorf("want the label to be named: %s", conditions(r))
	}
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(w.tns, "cool")}
	kube.Patch(t, w.tc, cm, `{"data":{"of":"them"}}`)
	kube.Eventually(t, "the drift to be reverted", func() (bool, string) {
		return w.configMap(t, "cool").Data["of"] == "web", ""
	})
	kube.Remove(t, w.c, app)
	if w.configMap(t, "cool") != nil {
		t.Error("want nothing left on the cluster")
	}
}
