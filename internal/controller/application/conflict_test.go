package application_test

import (
	"math"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestTwoApplicationsOneName shows that of two applications with a template of one name the first has the resource, the
// second says so, and takes its place when it is gone.
func TestTwoApplicationsOneName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.application("first", w.settings("cool", "of", "first"))
	w.submit(t, first)
	second := w.application("second", w.settings("cool", "of", "second"), w.settings("own"))
	kube.Create(t, w.c, second)
	awaitState(t, w.c, second, workloadv1alpha1.StatePartiallySubmitted)
	kube.Eventually(t, "the conflict to be told", func() (bool, string) {
		awaitState(t, w.c, second, workloadv1alpha1.StatePartiallySubmitted)
		c := second.GetCondition(xpv2.TypeSynced)
		return c.Reason == commonv1.ReasonNameTaken && strings.Contains(c.Message, `"cool"`), said(second)
	})
	kube.Holds(t, "the resource stays that of the first", func() (bool, string) {
		r := w.resource(t, "cool")
		return metav1.IsControlledBy(r, first) && w.configMap(t, "cool").Data["of"] == "first", said(second)
	}, func() { passQueues(t) })
	kube.Remove(t, w.c, first)
	awaitState(t, w.c, second, workloadv1alpha1.StateSubmitted)
	if got := w.configMap(t, "cool").Data["of"]; got != "second" {
		t.Errorf("want the resource of the second, got that of %q", got)
	}
}

// TestForeignResourceIsRefused shows that a resource on the cluster which nobody of ours has made is neither changed
// nor deleted, and is not in the way once it is gone.
func TestForeignResourceIsRefused(t *testing.T) {
	w := newWorld(t)
	theirs := &corev1.ConfigMap{ObjectMeta: build.Meta(w.tns, "one"), Data: map[string]string{"of": "them"}}
	kube.Create(t, w.tc, theirs)
	app := w.application("web", build.ResourceTemplate("cool", build.ConfigMap(w.tns, "one", "more", "fields")),
		w.settings("other"))
	kube.Create(t, w.c, app)
	r := w.awaitResource(t, "cool", workloadv1alpha1.StateFailed, commonv1.ReasonNameTaken)
	if m := r.GetCondition(xpv2.TypeSynced).Message; !strings.Contains(m,
		"ConfigMap "+w.tns+"/one exists and is not controlled by KubernetesApplicationResource cool") {
		t.Errorf("want a message that names both, got %q", m)
	}
	awaitState(t, w.c, app, workloadv1alpha1.StatePartiallySubmitted)
	was := theirs.GetResourceVersion()
	if err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil ||
		theirs.GetResourceVersion() != was {
		t.Errorf("it must be left as it was: %v, %v", theirs, err)
	}
	kube.Delete(t, w.tc, theirs)
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)

	second := w.application("second", build.ResourceTemplate("loser", build.ConfigMap(w.tns, "one")))
	kube.Create(t, w.c, second)
	awaitState(t, w.c, second, workloadv1alpha1.StateFailed)
	kube.Remove(t, w.c, second)
	if w.configMap(t, "one") == nil {
		t.Error("who does not have a resource must not delete it")
	}
}

// awaitSynced waits until condition Synced of an application has a reason and a message that holds some words.
func (w world) awaitSynced(t *testing.T, app *application, reason xpv2.ConditionReason, words string) {
	t.Helper()
	kube.Await(t, w.c, app, "condition Synced of "+app.GetName()+" for reason "+string(reason), func() (bool, string) {
		c := app.GetCondition(xpv2.TypeSynced)
		return c.Reason == reason && strings.Contains(c.Message, words), said(app)
	})
}

// TestClusterAway shows that an application whose cluster does not answer says so itself, whether it has something to
// do there or not, and that it goes on where it is when the cluster is back.
func TestClusterAway(t *testing.T) {
	w := unconnected(t)
	proxy, cfg := kube.NewProxy(t, target.User(t, user, admins))
	w.connect(t, "away", kube.Kubeconfig(t, cfg))
	app := w.application("web", w.settings("kept", "rev", "1"), w.settings("dropped", "rev", "1"))
	calm := w.application("calm", w.settings("calm"))
	doomed := w.application("doomed", w.settings("doomed"))
	kube.Create(t, w.c, app, calm, doomed)
	for _, a := range []*application{app, calm, doomed} {
		awaitState(t, w.c, a, workloadv1alpha1.StateSubmitted)
	}
	w.connect(t, "other", good(t))

	proxy.Cut(math.MaxInt)
	change(t, w.c, app, func(app *application) {
		app.Spec.ResourceTemplates = []workloadv1alpha1.ResourceTemplate{
			w.settings("kept", "rev", "2"), w.settings("added", "rev", "1"),
		}
	})
	kube.Delete(t, w.c, doomed)
	w.awaitSynced(t, calm, commonv1.ReasonTargetUnreachable, "target is unreachable")
	w.awaitSynced(t, app, commonv1.ReasonTargetUnreachable, "target is unreachable")
	w.awaitSynced(t, doomed, commonv1.ReasonTargetUnreachable, "spec.unreachableTarget: Orphan")
	if calm.Status.State != workloadv1alpha1.StateSubmitted {
		t.Errorf("what was submitted is so as far as is known, got %s", said(calm))
	}

	proxy.Cut(0)
	kube.AwaitGone(t, w.c, doomed)
	for _, a := range []*application{app, calm} {
		w.awaitSynced(t, a, xpv2.ReasonReconcileSuccess, "")
		awaitState(t, w.c, a, workloadv1alpha1.StateSubmitted)
		if a.Spec.ClusterRef.Name != "away" {
			t.Errorf("want %s where it was, it is on %s", a.GetName(), a.Spec.ClusterRef.Name)
		}
	}
	if kept := w.configMap(t, "kept"); kept.Data["rev"] != "2" || w.configMap(t, "dropped") != nil {
		t.Errorf("want what was asked for meanwhile, got %v", kept.Data)
	}
}

// TestCredentialsGone shows that an application whose cluster has lost its credentials says so.
func TestCredentialsGone(t *testing.T) {
	w := newWorld(t)
	app := w.application("web", w.settings("web"))
	w.submit(t, app)
	kube.Delete(t, w.c, secret(w.ns, w.ns+"-credentials"))
	w.awaitSynced(t, app, commonv1.ReasonInvalidConnection, "does not exist")
	kube.Create(t, w.c, secret(w.ns, w.ns+"-credentials", "kubeconfig", string(refused(t))))
	w.awaitSynced(t, app, commonv1.ReasonUnauthorized, "")
	kube.Update(t, w.c, secret(w.ns, w.ns+"-credentials", "kubeconfig", string(good(t))))
	w.awaitSynced(t, app, xpv2.ReasonReconcileSuccess, "")
}
