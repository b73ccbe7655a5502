package application_test

import (
	"math"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
