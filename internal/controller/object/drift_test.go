package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestDriftIsReverted shows that what somebody else does to our fields is undone, by watch.
// A defect of provider-kubernetes: in its client-side mode, which is accepted and ignored here, it does not see drift.
func TestDriftIsReverted(t *testing.T) {
	tc := target.Client(t)
	for name, drift := range map[string]struct {
		reason string
		do     func(*testing.T, *corev1.ConfigMap)
	}{
		"Changed": {reason: "A changed value comes back.", do: func(t *testing.T, cm *corev1.ConfigMap) {
			kube.Patch(t, tc, cm, `{"data":{"color":"red"}}`)
		}},
		"Removed": {reason: "A removed key comes back.", do: func(t *testing.T, cm *corev1.ConfigMap) {
			kube.Patch(t, tc, cm, `{"data":null}`)
		}},
		"Deleted": {reason: "A deleted resource comes back.", do: func(t *testing.T, cm *corev1.ConfigMap) {
			kube.Delete(t, tc, cm)
		}},
		"Unlabelled": {
			reason: "A resource that lost our label is labelled again.",
			do: func(t *testing.T, cm *corev1.ConfigMap) {
				kube.Patch(t, tc, cm, `{"metadata":{"labels":null},"data":{"color":"red"}}`)
			},
		},
		"TakenOver": {
			reason: "A field another manager has applied by force comes back.",
			do: func(t *testing.T, cm *corev1.ConfigMap) {
				applyAs(t, tc, build.ConfigMap(cm.GetNamespace(), cm.GetName(), "color", "red"), "intruder")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
				want := map[string]string{"color": "blue"}
				t.Log(drift.reason)
				drift.do(t, w.awaitMap(t, "settings", want))
				cm := emptySettings(w.target)
				kube.Await(t, w.tc, cm, "the label and data to come back", func() (bool, string) {
					return cmp.Equal(cm.Data, want) && len(cm.Labels) == 1, cmp.Diff(want, cm.Data)
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
