package object_test

import (
	"encoding/json"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// forScopes runs a test for both scopes.
func forScopes(t *testing.T, f func(*testing.T, build.Scope)) {
	t.Helper()
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) { f(t, s) })
	}
}

// forScopesBeside is forScopes for a test that mostly waits, and neither measures nor stops a server: it runs beside
// others of its kind, once all other tests are over.
func forScopesBeside(t *testing.T, f func(*testing.T, build.Scope)) {
	t.Helper()
	t.Parallel()
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f(t, s)
		})
	}
}

// awaitData waits until a ConfigMap on the target has these keys and values, in turn, and no others.
func (w world) awaitData(t *testing.T, name string, data ...string) *corev1.ConfigMap {
	t.Helper()
	want := map[string]string{}
	for i := 0; i+1 < len(data); i += 2 {
		want[data[i]] = data[i+1]
	}
	return w.awaitMap(t, name, want)
}

// awaitMap waits until a ConfigMap on the target has some data.
func (w world) awaitMap(t *testing.T, name string, want map[string]string) *corev1.ConfigMap {
	t.Helper()
	cm := w.kept(name)
	kube.Await(t, w.tc, cm, "data of "+name, func() (bool, string) {
		diff := cmp.Diff(want, cm.Data, cmpopts.EquateEmpty())
		return diff == "", diff
	})
	return cm
}

// observed returns the ConfigMap that the status of an Object shows.
func observed(t *testing.T, o build.Object) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	if err := json.Unmarshal(o.Observed().Manifest.Raw, cm); err != nil {
		t.Fatal(err)
	}
	return cm
}

// pause pauses an Object and waits until it is.
func pause(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	annotate(t, c, o, `"true"`)
	awaitCondition(t, c, o, wantCondition{
		Type: xpv2.TypeSynced, Status: corev1.ConditionFalse, Reason: xpv2.ReasonReconcilePaused,
	}, "crossplane.io/paused")
}

// unpause lets an Object go on.
func unpause(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	annotate(t, c, o, "null")
}

func annotate(t *testing.T, c client.Client, o build.Object, paused string) {
	t.Helper()
	patch := `{"metadata":{"annotations":{"crossplane.io/paused":` + paused + `}}}`
	kube.Patch(t, c, o, patch)
}

// TestLifecycle shows that a resource is made, shown in the status, changed and deleted with its Object, and that what
// leaves the manifest leaves the resource. A defect of provider-kubernetes: in its client-side mode, which is accepted
// and ignored here, removed keys stay.
func TestLifecycle(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		cm := w.awaitData(t, "settings", "color", "blue")

		if diff := cmp.Diff(cm.GetUID(), observed(t, o).GetUID()); diff != "" {
			t.Errorf("status.atProvider.manifest.metadata.uid: -want, +got:\n%s", diff)
		}

		o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "settings", "shape", "round"))
		kube.Update(t, w.c, o)
		w.awaitData(t, "settings", "shape", "round")

		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.tc, cm)
	})
}

// TestDriftIsReverted shows that what somebody else does to our fields is undone, by watch.
// A defect of provider-kubernetes: in its client-side mode, which is accepted and ignored here, it does not see drift.
func TestDriftIsReverted(t *testing.T) {
	tc := target.Client(t)
	for name, drift := range map[string]func(*testing.T, *corev1.ConfigMap){
		"Changed": func(t *testing.T, cm *corev1.ConfigMap) { kube.Patch(t, tc, cm, `{"data":{"color":"red"}}`) },
		"Removed": func(t *testing.T, cm *corev1.ConfigMap) { kube.Patch(t, tc, cm, `{"data":null}`) },
		"Deleted": func(t *testing.T, cm *corev1.ConfigMap) { kube.Delete(t, tc, cm) },
		"Unlabelled": func(t *testing.T, cm *corev1.ConfigMap) {
			kube.Patch(t, tc, cm, `{"metadata":{"labels":null},"data":{"color":"red"}}`)
		},
		"LabelChanged": func(t *testing.T, cm *corev1.ConfigMap) {
			kube.Patch(t, tc, cm, `{"metadata":{"labels":{"`+commonv1.LabelKeyManaged+`":"no"}}}`)
		},
		"TakenOver": func(t *testing.T, cm *corev1.ConfigMap) { // By another manager, who has applied it by force.
			applyAs(t, tc, build.ConfigMap(cm.GetNamespace(), cm.GetName(), "color", "red"), "intruder")
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
				want := map[string]string{"color": "blue"}
				drift(t, w.awaitMap(t, "settings", want))
				cm := emptySettings(w.target)
				kube.Await(t, w.tc, cm, "the label and data to come back", func() (bool, string) {
					return cmp.Equal(cm.Data, want) && cm.Labels[commonv1.LabelKeyManaged] == "true", cmp.Diff(want, cm.Data)
				})
			})
		})
	}
}

// TestForeignFieldsAreLeftAlone shows that a field we did not set may change without a write to the target.
func TestForeignFieldsAreLeftAlone(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		cm := w.awaitData(t, "settings", "color", "blue")

		mark := target.Audit(t).Mark()
		cm.Data["shape"] = "round"
		cm.Labels["theirs"] = "yes"
		kube.Update(t, w.tc, cm)
		// The status shows the change, so it has been seen.
		awaitObserved(t, c, o, cm.Data)
		w.checkAsked(t, mark, nil)
	})
}

// TestNamesakeSurvives shows that a resource survives which others have made in place of the one an Object knows.
//
// provider-kubernetes deletes whatever bears the name.
func TestNamesakeSurvives(t *testing.T) {
	for name, p := range map[string]xpv2.ManagementPolicies{
		"Full": nil, "Partial": observeUpdate, "Observer": observeDelete,
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				if p != nil {
					kube.Create(t, w.tc, emptySettings(w.target))
				}
				o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
				o.SetManagementPolicies(p)
				createReady(t, w.c, o)

				// It is made again while the Object is paused, and the Object is deleted before it can look.
				pause(t, w.c, o)
				kube.Delete(t, w.tc, emptySettings(w.target))
				theirs := blue(w.target)
				kube.Create(t, w.tc, theirs)
				kube.Delete(t, w.c, o)
				unpause(t, w.c, o)
				kube.AwaitGone(t, w.c, o)
				was := theirs.GetResourceVersion()
				w.exists(t, theirs, true)
				if theirs.GetResourceVersion() != was {
					t.Errorf("a resource of others must not be touched, got %v", theirs)
				}
			})
		})
	}
}

// TestFightIsTold shows that two Objects which set one field to different values end their fight, and that each is told
// of the other.
func TestFightIsTold(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	color := func(name, value string) build.Object {
		o := w.scope.Object(w.namespace, w.target+"-"+name, w.config, build.ConfigMap(w.target, "settings", "color", value))
		kube.Create(t, c, o)
		return o
	}
	first, second := color("first", "blue"), color("second", "red")
	for _, o := range []build.Object{first, second} {
		awaitCondition(t, c, o, wantCondition{
			Type: xpv2.TypeSynced, Status: corev1.ConditionFalse, Reason: commonv1.ReasonContested,
		}, "data.color is owned by ")
	}
}

// job returns the manifest of a Job with an image.
func job(namespace, image string) build.Manifest {
	m := nameOf("batch/v1", "Job", namespace, "migrate")
	m["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{
		"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": image}},
	}}}
	return m
}

// TestRunOnce shows that a Job which is to run once is not made again when it has gone, that its Object stays as ready
// as the Job was, and that a changed manifest runs once more.
func TestRunOnce(t *testing.T) {
	c := provide(t)
	for name, policies := range map[string]xpv2.ManagementPolicies{
		"All": nil, "Create": {xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionDelete},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, build.Namespaced())
			o := w.object(job(w.target, "a"))
			o.SetManagementPolicies(policies)
			o.SetAnnotations(map[string]string{commonv1.AnnotationKeyRunOnce: "true"})
			o.Desired().Readiness = queries("object.?status.?failed.orValue(0) == 1")
			kube.Create(t, c, o)
			made := w.awaitJob(t, "a", "")
			kube.PatchStatus(t, w.tc, made, `{"status":{"failed":1}}`)
			awaitReady(t, c, o)
			release := hold(t, w.tc, made)
			if err := w.tc.Delete(t.Context(), made, client.PropagationPolicy("Background")); err != nil {
				t.Fatal(err)
			}
			awaitCondition(t, c, o, unavailable, "is being deleted") // The last that is seen of it.
			release()
			awaitCondition(t, c, o, ready)
			holds(t, c, "the Job is gone, and its Object Ready", func() (bool, string) {
				err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(made), &batchv1.Job{})
				if now := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); now != nil {
					return false, now.Error()
				}
				return apierrors.IsNotFound(err) && o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue,
					conditions(o) + message(err)
			}, o)
			setManifest(t, c, o, job(w.target, "b"))
			w.awaitJob(t, "b", made.UID)
		})
	}
}

// TestImmutableFieldSaysWhatToDo shows that a change which a server does not make is refused with what cures it, and
// that the cure does.
func TestImmutableFieldSaysWhatToDo(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	o := w.object(job(w.target, "a"))
	kube.Create(t, c, o)
	made := w.awaitJob(t, "a", "")
	awaitReady(t, c, o)
	setManifest(t, c, o, job(w.target, "b"))
	awaitCondition(t, c, o, failed(commonv1.ReasonInvalidManifest),
		"delete the resource on the target, and the provider recreates it")
	if err := w.tc.Delete(t.Context(), made, client.PropagationPolicy("Background")); err != nil {
		t.Fatal(err)
	}
	w.awaitJob(t, "b", made.UID)
	awaitCondition(t, c, o, wantCondition{Type: xpv2.TypeSynced, Status: corev1.ConditionTrue})
}

// awaitJob waits until there is a Job with an image that is not the one of a UID, and returns it.
func (w world) awaitJob(t *testing.T, image string, not types.UID) *batchv1.Job {
	t.Helper()
	j := &batchv1.Job{}
	kube.Eventually(t, "the Job", func() (bool, string) {
		err := w.tc.Get(t.Context(), types.NamespacedName{Namespace: w.target, Name: "migrate"}, j)
		return err == nil && j.UID != not && j.Spec.Template.Spec.Containers[0].Image == image, message(err)
	})
	return j
}
