package application_test

import (
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	kube.Throughout(t, time.Until(back), "the applications wait, and the neighbour does not", func() (bool, string) {
		for _, a := range []*application{app, doomed, neighbour} {
			if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(a), a); err != nil {
				return false, err.Error()
			}
		}
		waits := app.Status.State == workloadv1alpha1.StatePartiallySubmitted &&
			doomed.Status.State == workloadv1alpha1.StateDeleting
		works := neighbour.Status.State == workloadv1alpha1.StateSubmitted &&
			neighbour.GetCondition(xpv2.TypeReady) == calm
		return waits && works, said(app) + "; " + said(doomed) + "; " + said(neighbour)
	})

	target.Restart(t)
	kube.Eventually(t, "all that was asked for", func() (bool, string) {
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
			return false, err.Error()
		}
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
