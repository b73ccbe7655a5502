package application_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
