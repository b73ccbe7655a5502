package object_test

import (
	"strconv"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// onDryRun annotates an Object that is not created yet.
func onDryRun(o build.Object) build.Object {
	o.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"})
	return o
}

// mutations returns how many requests of a user were not to look. Dry runs are among them: a server's audit does not
// tell them apart.
func mutations(r kube.Requests) map[string]int {
	count := r.Count()
	for what := range count {
		if verb, _, _ := strings.Cut(what, " "); verb == "get" || verb == "list" {
			delete(count, what)
		}
	}
	return count
}

// TestDryRunChangesNothing shows that an Object which gets the annotation stops to keep its resource, says what it
// would change as manifest and resource change, and does it when the annotation goes.
func TestDryRunChangesNothing(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		tns := target.Namespace(t)
		key := types.NamespacedName{Namespace: tns, Name: "settings"}
		ns, pc := connect(t, c, s, targetUser(t))
		o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "color", "blue", "shape", "round"))
		createReady(t, c, o)
		setDryRun(t, c, o, `"true"`)
		awaitCondition(t, c, o, noDifference)

		// A field that the manifest gives up is one that an apply would remove.
		setManifest(t, c, o, build.ConfigMap(tns, "settings", "color", "red"))
		awaitFields(t, c, o, "data.color, data.shape")
		want := []string{`replace /data/color "red"`, `remove /data/shape`}
		if diff := cmp.Diff(want, patchOf(t, o)); diff != "" {
			t.Errorf("status.atProvider.diff: -want, +got:\n%s", diff)
		}
		cm := awaitData(t, tc, key, map[string]string{"color": "blue", "shape": "round"})
		cm.Data, cm.Labels = map[string]string{"color": "green"}, nil
		kube.Update(t, tc, cm)
		awaitFields(t, c, o, "data.color")
		awaitReady(t, c, o)
		awaitData(t, tc, key, map[string]string{"color": "green"})

		setDryRun(t, c, o, "null")
		awaitNoPreview(t, c, o)
		cm = awaitData(t, tc, key, map[string]string{"color": "red"})
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
		ours := awaitData(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "settings"}, blue(w.target).Data)
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
		if err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil {
			t.Errorf("a resource that was only looked at: %v", err)
		}
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
		awaitData(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "settings"}, blue(w.target).Data)
	})
}

// TestDryRunDeletesNothing shows that an Object deleted on a dry run goes and leaves its resource, and says so, be the
// target there or not.
func TestDryRunDeletesNothing(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w, who := newWorldAs(t, c, s)
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		setDryRun(t, c, o, `"true"`)
		awaitCondition(t, c, o, noDifference)
		mark := target.Audit(t).Mark()
		last, _ := o.DeepCopyObject().(build.Object)
		kube.Remove(t, c, o)
		if diff := cmp.Diff(map[string]int{}, mutations(target.Audit(t).Since(mark).By(who)),
			cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("requests on the target: -want, +got:\n%s", diff)
		}
		awaitData(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "settings"}, blue(w.target).Data)
		awaitEvent(t, c, last, "LeftExternalResource")

		lost := onDryRun(s.Object(w.namespace, w.target+"-lost",
			connectAs(t, world{c: c, scope: s, namespace: w.namespace}, nowhere(kube.Refused(t))),
			build.ConfigMap(w.target, "settings")))
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
	const reconciles = 10
	c, tc := provide(t), target.Client(t)
	for name, p := range map[string]struct {
		reason string
		data   []string
		viewer bool
		want   wantCondition
	}{
		"Different":    {reason: "A difference is told once.", data: []string{"color", "red"}, want: different},
		"NoDifference": {reason: "That there is none is too.", data: []string{"color", "blue"}, want: noDifference},
		"CannotCompare": {
			reason: "What is refused is not sent again.",
			data:   []string{"a b", "c"},
			want:   cannotCompare,
		},
		"Forbidden": {
			reason: "Nor is what is forbidden.",
			data:   []string{"color", "red"},
			viewer: true,
			want:   different,
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopesBeside(t, func(t *testing.T, s build.Scope) {
				tns := target.Namespace(t)
				who := tns + "-asker"
				role, binding := viewerRights(tns, who)
				kube.Create(t, tc, role, binding, blue(tns))
				cfg := target.User(t, who)
				if !p.viewer {
					cfg = target.User(t, who, "system:masters")
				}
				ns, pc := connect(t, c, s, cfg)
				o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", p.data...))
				o.SetManagementPolicies(observeOnly)
				kube.Create(t, c, o)
				awaitCondition(t, c, o, p.want)
				awaitReady(t, c, o)

				audit := target.Audit(t)
				mark := audit.Mark()
				for range reconciles {
					touch(t, c, o)
					passes(t, c, o)
				}
				if diff := cmp.Diff(map[string]int{}, audit.Since(mark).By(who).Count(),
					cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s\nrequests of %d reconciles: -want, +got:\n%s", p.reason, reconciles, diff)
				}
				awaitCondition(t, c, o, p.want)
				staysUnwritten(t, c, o)

				cm := awaitData(t, tc, types.NamespacedName{Namespace: tns, Name: "settings"}, blue(tns).Data)
				cm.Data["step"] = strconv.Itoa(reconciles)
				kube.Update(t, tc, cm)
				awaitObserved(t, c, o, cm.Data)
				if diff := cmp.Diff(map[string]int{"patch configmaps": 1},
					audit.Since(mark).By(who).Count()); diff != "" {
					t.Errorf("%s\nrequests after a change of the resource: -want, +got:\n%s", p.reason, diff)
				}
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
		setPolicies(t, w.c, o, neverDelete)
		awaitData(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "settings"}, map[string]string{"color": "red"})
		awaitNoPreview(t, w.c, o)
		setPolicies(t, w.c, o, observeDelete)
		awaitCondition(t, w.c, o, noDifference)
	})
}

// setPolicies changes the management policies of an Object.
func setPolicies(t *testing.T, c client.Client, o build.Object, p xpv2.ManagementPolicies) {
	t.Helper()
	edit(t, c, o, func() { o.SetManagementPolicies(p) })
}
