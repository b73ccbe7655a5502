package application_test

import (
	"math"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
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

// TestOrphanIsNotAdopted shows that a resource which nobody controls is left alone.
func TestOrphanIsNotAdopted(t *testing.T) {
	w := newWorld(t)
	orphan := &resource{ObjectMeta: build.Meta(w.ns, "cool")}
	orphan.Spec.ResourceTemplateSpec = w.settings("cool", "of", "nobody").Spec
	orphan.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Name: w.ns}
	kube.Create(t, w.c, orphan)
	w.awaitResource(t, "cool", workloadv1alpha1.StateSubmitted, xpv2.ReasonReconcileSuccess)
	usages := &mpcv1alpha1.ProviderConfigUsageList{}
	if err := w.c.List(t.Context(), usages, client.InNamespace(w.ns)); err != nil || len(usages.Items) != 1 ||
		usages.Items[0].ResourceReference.Name != "cool" {
		t.Errorf("a resource on its own records the use of its cluster, got %v, %v", usages.Items, err)
	}
	app := w.application("web", w.settings("cool", "of", "web"))
	kube.Create(t, w.c, app)
	awaitState(t, w.c, app, workloadv1alpha1.StateFailed)
	if c := app.GetCondition(xpv2.TypeSynced); c.Reason != commonv1.ReasonNameTaken {
		t.Errorf("want reason Conflict: %s", said(app))
	}
	kube.Remove(t, w.c, app)
	if r := w.resource(t, "cool"); len(r.GetOwnerReferences()) > 0 || r.GetDeletionTimestamp() != nil {
		t.Errorf("the orphan must be left alone: %v", r)
	}
	if got := w.configMap(t, "cool").Data["of"]; got != "nobody" {
		t.Errorf("want the resource of nobody, got that of %q", got)
	}
	kube.Remove(t, w.c, orphan)
	if w.configMap(t, "cool") != nil {
		t.Error("a resource on its own deletes what it has made, too")
	}
}

// TestTwoResourcesOneTarget shows that of two resources with one remote target only one has it, without a race, and the
// other takes its place when it is gone.
func TestTwoResourcesOneTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := func(name string) workloadv1alpha1.ResourceTemplate {
		return build.ResourceTemplate(name, build.ConfigMap(w.tns, "one", "of", name))
	}
	app := w.application("web", template("cool"), template("lame"))
	kube.Create(t, w.c, app)
	awaitState(t, w.c, app, workloadv1alpha1.StatePartiallySubmitted)
	winner, loser := "cool", "lame"
	kube.Eventually(t, "one to have it and the other to say so", func() (bool, string) {
		a, b := w.resource(t, "cool"), w.resource(t, "lame")
		if b.Status.State == workloadv1alpha1.StateSubmitted {
			a, b, winner, loser = b, a, "lame", "cool"
		}
		return a.Status.State == workloadv1alpha1.StateSubmitted && b.Status.State == workloadv1alpha1.StateFailed &&
				b.GetCondition(xpv2.TypeSynced).Reason == commonv1.ReasonNameTaken, conditions(a) + "; " +
				conditions(b)
	})
	kube.Holds(t, "the remote resource stays that of the winner", func() (bool, string) {
		return w.configMap(t, "one").Data["of"] == winner, winner
	}, func() { passQueues(t) })
	change(t, w.c, app, func(app *application) {
		app.Spec.ResourceTemplates = []workloadv1alpha1.ResourceTemplate{template(loser)}
	})
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	kube.Eventually(t, "the remote resource to be that of the other", func() (bool, string) {
		cm := w.configMap(t, "one")
		return cm != nil && cm.Data["of"] == loser, loser
	})
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

// TestLostResource shows that a KubernetesApplicationResource which is gone although the server has accepted its
// finalizer leaves nothing on the cluster: neither its resource nor the copy of a Secret.
func TestLostResource(t *testing.T) {
	w := newWorld(t)
	group := schema.GroupResource{
		Group: workloadv1alpha1.ResourceGroupVersionKind.Group, Resource: "kubernetesapplicationresources",
	}
	held := local.HoldDeletion(t, group, func(n types.NamespacedName) bool {
		now := &resource{}
		return w.c.Get(t.Context(), n, now) == nil && now.Status.Submitted != nil
	})
	o := &resource{ObjectMeta: build.Meta(w.ns, "settings")} // Without a cluster it gets no finalizer.
	o.SetLabels(held.Labels)
	o.Spec.ResourceTemplateSpec = build.ResourceTemplate("settings",
		build.ConfigMap(w.tns, "settings", "color", "blue"), "password").Spec
	kube.Create(t, w.c, secret(w.ns, "password", "value", "hidden"), o)
	awaitEnd := held.Delete(t, w.c, o)
	change(t, w.c, o, func(o *resource) {
		o.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: w.ns}
	})
	awaitEnd()
	if err := w.c.Get(t.Context(), types.NamespacedName{Namespace: w.ns, Name: "settings"},
		o); !apierrors.IsNotFound(err) {
		t.Fatalf("it must be gone without its finalizer having been removed: %v", err)
	}
	kube.AwaitGone(t, w.tc, &corev1.ConfigMap{ObjectMeta: build.Meta(w.tns, "settings")},
		&corev1.Secret{ObjectMeta: build.Meta(w.tns, "settings-password")})
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
