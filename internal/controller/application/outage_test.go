package application_test

import (
	"math"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// outage is how long the cluster is down in TestClusterDown.
	outage = time.Minute
)

// keeper connects to the target as a user whose rights come from a ClusterRoleBinding, as those of most do. A server
// that starts refuses such users until it has read its roles.
func (w world) keeper(t *testing.T, name string) {
	t.Helper()
	kube.Create(t, w.tc, &rbacv1.ClusterRoleBinding{
		ObjectMeta: build.Meta("", w.tns),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: w.tns}},
	})
	w.connect(t, name, kube.Kubeconfig(t, target.User(t, "keeper", w.tns)))
}

// on presets the cluster of an application.
func on(cluster string, app *application) *application {
	app.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Name: cluster}
	return app
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

// TestClusterDown shows what happens when a cluster is down for a minute. Applications on it say so, and nothing of
// what is asked of them meanwhile is lost: all is done within seconds when the cluster is back, and what was there
// before is not made again. Applications on other clusters are not concerned.
func TestClusterDown(t *testing.T) {
	w := unconnected(t)
	w.keeper(t, "down")
	w.connect(t, "up", kube.Kubeconfig(t, local.User(t, user, admins)))
	kube.Create(t, w.c, secret(w.ns, "sql", "password", "first"))
	app := on("down", w.application("web",
		build.ResourceTemplate("a", build.ConfigMap(w.tns, "a", "color", "blue"),
			"sql"), w.settings("b"), w.settings("d")))
	doomed := on("down", w.application("doomed", w.settings("doomed")))
	neighbour := on("up", w.application("neighbour",
		build.ResourceTemplate("n", build.ConfigMap(w.ns, "n", "color", "blue"))))
	kube.Create(t, w.c, app, doomed, neighbour)
	for _, a := range []*application{app, doomed, neighbour} {
		awaitState(t, w.c, a, workloadv1alpha1.StateSubmitted)
	}
	was := map[string]types.UID{"a": w.configMap(t, "a").GetUID(), "d": w.configMap(t, "d").GetUID()}

	target.Stop(t)
	back := time.Now().Add(outage)
	change(t, w.c, app, func(app *application) {
		app.Spec.ResourceTemplates = []workloadv1alpha1.ResourceTemplate{
			build.ResourceTemplate("a", build.ConfigMap(w.tns, "a", "color", "red"),
				"sql"), w.settings("c"), w.settings("d"),
		}
	})
	change(t, w.c, secret(w.ns, "sql"),
		func(s *corev1.Secret) { s.Data = map[string][]byte{"password": []byte("second")} })
	kube.Delete(t, w.c, doomed)
	change(t, w.c, neighbour, func(app *application) {
		app.Spec.ResourceTemplates[0] = build.ResourceTemplate("n", build.ConfigMap(w.ns, "n", "color", "red"))
	})
	awaitState(t, w.c, neighbour, workloadv1alpha1.StateSubmitted)
	calm := neighbour.GetCondition(xpv2.TypeReady)
	for name, state := range map[string]workloadv1alpha1.State{
		"a": workloadv1alpha1.StateScheduled, "b": workloadv1alpha1.StateDeleting, "c": workloadv1alpha1.StateScheduled,
		"d": workloadv1alpha1.StateSubmitted, "doomed": workloadv1alpha1.StateDeleting,
	} {
		w.awaitResource(t, name, state, "TargetUnreachable")
	}
	w.awaitSynced(t, app, commonv1.ReasonTargetUnreachable, "")
	kube.Throughout(t, time.Until(back), "the applications wait, and the neighbour does not", func() (bool, string) {
		for _, a := range []*application{app, doomed, neighbour} {
			if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(a), a); err != nil {
				return false, err.Error()
			}
		}
		waits := app.Status.State == workloadv1alpha1.StatePartiallySubmitted &&
			app.GetCondition(xpv2.TypeSynced).Reason == commonv1.ReasonTargetUnreachable &&
			doomed.Status.State == workloadv1alpha1.StateDeleting
		works := neighbour.Status.State == workloadv1alpha1.StateSubmitted &&
			neighbour.GetCondition(xpv2.TypeReady) == calm
		return waits && works, said(app) + "; " + said(doomed) + "; " + said(neighbour)
	})

	target.Restart(t)
	kube.Await(t, w.c, app, "all that was asked for", func() (bool, string) {
		a := w.configMap(t, "a")
		return app.Status.State == workloadv1alpha1.StateSubmitted && a != nil && a.Data["color"] == "red" &&
			w.configMap(t, "b") == nil &&
			w.configMap(t, "c") != nil && w.configMap(t, "doomed") == nil, said(app)
	})
	kube.AwaitGone(t, w.c, doomed)
	w.awaitCopy(t, "a-sql", map[string]string{"password": "second"})
	for name, uid := range was {
		if now := w.configMap(t, name); now == nil || now.GetUID() != uid {
			t.Errorf("ConfigMap %s must not be made again: it was %s and is %v", name, uid, now)
		}
	}
}
