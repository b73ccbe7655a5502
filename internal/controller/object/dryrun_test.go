package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// onDryRun annotates an Object that is not created yet.
func onDryRun(o build.Object) build.Object {
	o.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"})
	return o
}

// TestDryRunChangesNothing shows that an Object which gets the annotation stops to keep its resource, says what it
// would change as manifest and resource change, and does it when the annotation goes.
func TestDryRunChangesNothing(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		c, tc := w.c, w.tc
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue", "shape", "round"))
		setDryRun(t, c, o, `"true"`)
		awaitCondition(t, c, o, noDifference)

		// A field that the manifest gives up is one that an apply would remove.
		setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "red"))
		awaitFields(t, c, o, "data.color, data.shape")
		want := []string{`replace /data/color "red"`, `remove /data/shape`}
		if diff := cmp.Diff(want, patchOf(t, o)); diff != "" {
			t.Errorf("status.atProvider.diff: -want, +got:\n%s", diff)
		}
		cm := w.awaitData(t, "settings", "color", "blue", "shape", "round")
		cm.Data, cm.Labels = map[string]string{"color": "green"}, nil
		kube.Update(t, tc, cm)
		awaitFields(t, c, o, "data.color")
		awaitReady(t, c, o)
		w.awaitData(t, "settings", "color", "green")

		setDryRun(t, c, o, "null")
		awaitNoPreview(t, c, o)
		cm = w.awaitData(t, "settings", "color", "red")
		if got := cm.Labels[commonv1.LabelKeyManaged]; got != commonv1.LabelValueManaged {
			t.Errorf("label after the dry run: want %q, got %q", commonv1.LabelValueManaged, got)
		}
	})
}

// TestDryRunForAnotherResource shows that an Object does not forget the resource it has made when its manifest names
// another on a dry run, and that it still deletes that one when the manifest names it again.
func TestDryRunForAnotherResource(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		theirs := &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, "theirs")}
		kube.Create(t, w.tc, theirs)
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		ours := w.awaitData(t, "settings", "color", "blue")
		setDryRun(t, w.c, o, `"true"`)
		setManifest(t, w.c, o, build.ConfigMap(w.target, "theirs", "color", "blue"))
		awaitCondition(t, w.c, o, different)
		if got := observed(t, o).GetUID(); got != ours.GetUID() {
			t.Errorf("status.atProvider.manifest.metadata.uid: want that of the resource the Object has made, %s, got %s",
				ours.GetUID(), got)
		}
		setManifest(t, w.c, o, build.ConfigMap(w.target, "settings", "color", "blue"))
		setDryRun(t, w.c, o, "null")
		awaitNoPreview(t, w.c, o)
		kube.Delete(t, w.c, o)
		kube.AwaitGone(t, w.tc, ours)
		w.exists(t, theirs, true)
	})
}

// TestDryRunForgetsWhatItOnlySaw shows that a dry run leaves no claim to a resource that was never applied.
func TestDryRunForgetsWhatItOnlySaw(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, blue(w.target))
		o := onDryRun(w.object(build.ConfigMap(w.target, "settings", "color", "red")))
		kube.Create(t, w.c, o)
		awaitFields(t, w.c, o, "data.color")
		if observed(t, o).Name != "settings" {
			t.Errorf("status.atProvider.manifest: want the resource, got %s", o.Observed().Manifest.Raw)
		}
		setManifest(t, w.c, o, build.ConfigMap(w.target, "another", "color", "red"))
		kube.Await(t, w.c, o, "the Object to forget the resource", func() (bool, string) {
			raw := string(o.Observed().Manifest.Raw)
			return raw == "" || raw == "null", raw
		})
		setDryRun(t, w.c, o, "null")
		awaitReady(t, w.c, o)
		kube.Remove(t, w.c, o)
		w.awaitData(t, "settings", "color", "blue")
	})
}

// TestDryRunDeletesNothing shows that an Object deleted on a dry run goes and leaves its resource, and says so, be the
// target there or not.
func TestDryRunDeletesNothing(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		setDryRun(t, c, o, `"true"`)
		awaitCondition(t, c, o, noDifference)
		mark := target.Audit(t).Mark()
		last, _ := o.DeepCopyObject().(build.Object)
		kube.Remove(t, c, o)
		for _, e := range target.Audit(t).Since(mark).By(w.user) {
			if e.Verb != "get" && e.Verb != "list" { // Dry runs are among them: an audit does not tell them apart.
				t.Errorf("want nothing but looks, got %s %s", e.Verb, e.Subject())
			}
		}
		w.awaitData(t, "settings", "color", "blue")
		awaitEvent(t, c, last, "LeftExternalResource")

		w.config = connectAs(t, w, nowhere(kube.Refused(t)))
		lost := onDryRun(w.keeper("lost"))
		kube.Create(t, c, lost)
		awaitCondition(t, c, lost, failed(commonv1.ReasonTargetUnreachable))
		kube.Remove(t, c, lost)
	})
}

// TestSettledPreviewIsSilent shows that a preview is asked for once: neither passes of the reconciler cost a request
// nor changes of what an apply cannot change, whether the target finds a difference, none, or fault with the manifest,
// or may not be asked.
func TestSettledPreviewIsSilent(t *testing.T) {
	t.Parallel()
	c, tc := provide(t), target.Client(t)
	for name, p := range map[string]struct {
		reason string
		data   []string
		want   wantCondition
	}{
		"Different":     {reason: "A difference is told once.", data: []string{"color", "red"}, want: different},
		"NoDifference":  {reason: "That there is none is too.", data: []string{"color", "blue"}, want: noDifference},
		"CannotCompare": {reason: "What is refused is not sent again.", data: []string{"a b", "c"}, want: cannotCompare},
		"Forbidden":     {reason: "Nor is what is forbidden.", data: []string{"color", "red"}, want: different},
	} {
		t.Run(name, func(t *testing.T) {
			forScopesBeside(t, func(t *testing.T, s build.Scope) {
				t.Log(p.reason)
				group := "system:masters"
				if name == "Forbidden" {
					group = "nobody"
				}
				w := newWorldAs(t, c, s, group)
				role, binding := viewerRights(w.target, w.user)
				kube.Create(t, tc, role, binding, blue(w.target))
				o := w.object(build.ConfigMap(w.target, "settings", p.data...))
				o.SetManagementPolicies(observeOnly)
				kube.Create(t, c, o)
				awaitCondition(t, c, o, p.want)
				awaitReady(t, c, o)

				mark := target.Audit(t).Mark()
				w.asksNothing(t, o)
				awaitCondition(t, c, o, p.want)
				staysUnwritten(t, c, o)

				cm := w.awaitData(t, "settings", "color", "blue")
				cm.Data["step"] = "next"
				kube.Update(t, tc, cm)
				awaitObserved(t, c, o, cm.Data)
				w.checkAsked(t, mark, map[string]int{"patch configmaps": 1})
			})
		})
	}
}

// TestPreviewFollowsPolicy shows that an Object which may apply after all does, and says nothing of changes any more;
// and that one which may no longer does again.
func TestPreviewFollowsPolicy(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, blue(w.target))
		o := w.object(build.ConfigMap(w.target, "settings", "color", "red"))
		o.SetManagementPolicies(observeOnly)
		kube.Create(t, w.c, o)
		awaitFields(t, w.c, o, "data.color")
		edit(t, w.c, o, func() { o.SetManagementPolicies(neverDelete) })
		w.awaitData(t, "settings", "color", "red")
		awaitNoPreview(t, w.c, o)
		edit(t, w.c, o, func() { o.SetManagementPolicies(observeDelete) })
		awaitCondition(t, w.c, o, noDifference)
	})
}
