package application_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestNamespaces shows where resources go whose template does not fit its kind: into namespace default, or into
// none.
func TestNamespaces(t *testing.T) {
	w := newWorld(t)
	name := w.tns
	bare := build.ConfigMap("", name)
	delete(bare["metadata"].(map[string]any), "namespace")
	role := build.Manifest{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": name, "namespace": "ignored", "labels": nil},
	}
	app := w.application("web", build.ResourceTemplate("bare", bare), build.ResourceTemplate("role", role))
	w.submit(t, app)
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta("default", name)}
	cr := &rbacv1.ClusterRole{ObjectMeta: build.Meta("", name)}
	for _, o := range []client.Object{cm, cr} {
		if err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Error(err)
		}
	}
	kube.Remove(t, w.c, app)
	kube.AwaitGone(t, w.tc, cm, cr)
}

// TestRemoteStatus shows that the status of what is on the cluster is copied as it is, follows changes, and is absent
// where there is none.
func TestRemoteStatus(t *testing.T) {
	w := newWorld(t)
	d := build.Deployment(w.tns, "web")
	d["spec"].(map[string]any)["replicas"] = 2
	app := w.application("web", build.ResourceTemplate("web", d), w.settings("settings"))
	w.submit(t, app)
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	same := func() (bool, string) {
		if err := w.tc.Get(t.Context(), types.NamespacedName{Namespace: w.tns, Name: "web"}, live); err != nil {
			return false, err.Error()
		}
		r := w.resource(t, "web")
		if r.Status.Remote == nil {
			return false, "no remote status"
		}
		got := map[string]any{}
		if err := utiljson.Unmarshal(r.Status.Remote.Raw, &got); err != nil {
			return false, err.Error()
		}
		diff := cmp.Diff(live.Object["status"], any(got))
		return diff == "" && got["unavailableReplicas"] == int64(2), "-want, +got:\n" + diff
	}
	kube.Eventually(t, "the status of the Deployment", same)
	if got := w.resource(t, "settings").Status.Remote; got != nil {
		t.Errorf("a ConfigMap has no status, got %s", got.Raw)
	}
}

// TestApplicationHealth shows that an application is healthy while all of its resources are, by what real controllers
// write of them, that it says what is not and why, and that to be Ready it needs no more than to be submitted.
func TestApplicationHealth(t *testing.T) {
	w := newWorld(t)
	web := func(replicas int) workloadv1alpha1.ResourceTemplate {
		d := build.Deployment(w.tns, "web")
		spec := d["spec"].(map[string]any)
		spec["replicas"], spec["progressDeadlineSeconds"] = replicas, 1
		// Another ReplicaSet for each number: only a rollout has a deadline.
		spec["template"].(map[string]any)["spec"].(map[string]any)["terminationGracePeriodSeconds"] = replicas
		return build.ResourceTemplate("web", d)
	}
	front := build.Manifest{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"namespace": w.tns, "name": "front"},
		"spec": map[string]any{
			"type": "LoadBalancer", "selector": map[string]any{"app": "web"}, "ports": []any{map[string]any{"port": 80}},
		},
	}
	app := w.application("web", web(0), w.settings("settings"), build.ResourceTemplate("front", front))
	await := func(o client.Object, c func() xpv2.Condition, reason xpv2.ConditionReason, message string) {
		t.Helper()
		kube.Await(t, w.c, o, string(reason)+": "+message, func() (bool, string) {
			got := c()
			return got.Type == xpv2.TypeHealthy && got.Reason == reason && got.Message == message,
				fmt.Sprint(got)
		})
	}
	health := func() xpv2.Condition { return app.GetCondition(xpv2.TypeHealthy) }
	w.submit(t, app)
	await(app, health, commonv1.ReasonProgressing, "front: the load balancer has no address yet")
	kube.PatchStatus(t, w.tc, &corev1.Service{ObjectMeta: build.Meta(w.tns, "front")},
		`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`)
	await(app, health, commonv1.ReasonHealthy, "")

	change(t, w.c, app, func(app *application) { app.Spec.ResourceTemplates[0] = web(1) }) // Nobody runs its Pod.
	await(app, health, commonv1.ReasonFailed, "web: Progress deadline exceeded")
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	r := w.resource(t, "web")
	await(r, func() xpv2.Condition { return r.GetCondition(xpv2.TypeHealthy) }, commonv1.ReasonFailed,
		"Progress deadline exceeded")
	for _, both := range []string{"kubernetesapplications", "kubernetesapplicationresources"} {
		cells := local.Columns(t, workloadv1alpha1.GroupVersion.WithResource(both),
			types.NamespacedName{Namespace: w.ns, Name: "web"})
		if cells["HEALTHY"] != "False" || cells["READY"] != "True" {
			t.Errorf("%s: want it ready and not healthy, got %v", both, cells)
		}
	}

	change(t, w.c, app, func(app *application) { app.Spec.ResourceTemplates[0] = web(0) })
	await(app, health, commonv1.ReasonHealthy, "")
	w.atRest(t)
}

// TestDrift shows that a resource which somebody changes, strips of our marks or deletes becomes as it was, and that
// fields of others stay.
func TestDrift(t *testing.T) {
	w := newWorld(t)
	app := w.application("web", w.settings("one", "color", "blue"))
	w.submit(t, app)
	for _, tc := range []struct {
		name  string
		spoil func(*corev1.ConfigMap)
	}{
		{name: "Changed", spoil: func(cm *corev1.ConfigMap) { cm.Data["color"] = "red" }},
		{name: "Extended", spoil: func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"theirs": "stays"} }},
		{name: "Stripped", spoil: func(cm *corev1.ConfigMap) { cm.Labels, cm.Annotations = nil, nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			change(t, w.tc, w.configMap(t, "one"), tc.spoil)
			kube.Eventually(t, "the resource as it was", func() (bool, string) {
				cm := w.configMap(t, "one")
				return cm.Data["color"] == "blue" &&
					cm.GetAnnotations()[workloadv1alpha1.AnnotationKeyResourceUID] != "" &&
					len(cm.GetLabels()) > 0, cm.String()
			})
		})
	}
	if got := w.configMap(t, "one").Data["theirs"]; got != "stays" {
		t.Errorf("fields of others must stay, got %q", got)
	}
	kube.Delete(t, w.tc, w.configMap(t, "one"))
	kube.Eventually(t, "the resource to be made again",
		func() (bool, string) { return w.configMap(t, "one") != nil, "it is missing" })
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
}

// TestProgress shows that an application moves through its states in order, and that there is an event for each step.
func TestProgress(t *testing.T) {
	w := unconnected(t)
	watching, err := client.NewWithWatch(local.Config(), client.Options{Scheme: w.c.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := watching.Watch(t.Context(), &workloadv1alpha1.KubernetesApplicationList{}, client.InNamespace(w.ns))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	app := w.application("web", w.settings("a"), w.needing("b", "sql"))
	kube.Create(t, w.c, app)
	awaitState(t, w.c, app, workloadv1alpha1.StatePending)
	w.connect(t, "late", good(t))
	awaitState(t, w.c, app, workloadv1alpha1.StatePartiallySubmitted)
	w.awaitResource(t, "b", workloadv1alpha1.StateScheduled, workloadv1alpha1.ReasonWaitingForSecret)
	kube.Create(t, w.c, secret(w.ns, "sql", "password", "p"))
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	kube.Remove(t, w.c, app)

	var states []workloadv1alpha1.State
	for e := range stream.ResultChan() {
		s := e.Object.(*application).Status.State
		if s != "" && (len(states) == 0 || states[len(states)-1] != s) {
			states = append(states, s)
		}
		if e.Type == "DELETED" {
			break
		}
	}
	want := []workloadv1alpha1.State{"Pending", "Scheduled", "PartiallySubmitted", "Submitted", "Deleting"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("states: -want, +got:\n%s", diff)
	}
	kube.Eventually(t, "events", func() (bool, string) {
		events := &corev1.EventList{}
		if err := w.c.List(t.Context(), events, client.InNamespace(w.ns)); err != nil {
			return false, err.Error()
		}
		var got []string
		for _, e := range events.Items {
			got = append(got, e.InvolvedObject.Kind+" "+e.Reason)
		}
		for _, e := range []string{
			"KubernetesApplication CannotScheduleApplication", "KubernetesApplication ScheduledApplication",
			"KubernetesApplication CreatedResource",
			"KubernetesApplication SubmittedApplication", "KubernetesApplication DeletedResource",
			"KubernetesApplicationResource CannotSubmitResource",
			"KubernetesApplicationResource PropagatedSecret", "KubernetesApplicationResource SubmittedResource",
			"KubernetesApplicationResource DeletedFromCluster",
		} {
			if !slices.Contains(got, e) {
				return false, e + " is missing of " + strings.Join(got, ", ")
			}
		}
		return true, ""
	})
}

// TestPaused shows that a paused application and a paused resource are left as they are.
func TestPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.application("web", w.settings("one", "color", "blue"))
	w.submit(t, app)
	change(t, w.c, app, func(app *application) { app.SetAnnotations(map[string]string{"crossplane.io/paused": "true"}) })
	change(t, w.c, app, func(app *application) { app.Spec.ResourceTemplates[0] = w.settings("one", "color", "red") })
	kube.Await(t, w.c, app, "the application to say so", func() (bool, string) {
		return app.GetCondition("Synced").Reason == "ReconcilePaused", said(app)
	})
	r := w.resource(t, "one")
	change(t, w.c, r, func(r *resource) { r.Annotations["crossplane.io/paused"] = "true" })
	w.awaitResource(t, "one", workloadv1alpha1.StateSubmitted, "ReconcilePaused")
	change(t, w.tc, w.configMap(t, "one"), func(cm *corev1.ConfigMap) { cm.Data["color"] = "green" })
	kube.Holds(t, "nothing is written", func() (bool, string) {
		got := w.configMap(t, "one").Data["color"]
		return got == "green", got
	}, func() { passQueues(t) })
	change(t, w.c, app, func(app *application) { app.SetAnnotations(nil) })
	change(t, w.c, r, func(r *resource) { delete(r.Annotations, "crossplane.io/paused") })
	kube.Eventually(t, "the resource to follow", func() (bool, string) {
		got := w.configMap(t, "one").Data["color"]
		return got == "red", got
	})
}
