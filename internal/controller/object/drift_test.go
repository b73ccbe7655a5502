package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestDriftIsReverted shows that what somebody else does to our fields is undone, by watch.
// A defect of provider-kubernetes: in its client-side mode, which is accepted and ignored here, it does not see drift.
func TestDriftIsReverted(t *testing.T) {
	tc := target.Client(t)
	for name, drift := range map[string]struct {
		reason string
		do     func(*testing.T, *corev1.ConfigMap) error
	}{
		"Changed": {reason: "A changed value comes back.", do: func(t *testing.T, cm *corev1.ConfigMap) error {
			cm.Data["color"] = "red"
			return tc.Update(t.Context(), cm)
		}},
		"Removed": {reason: "A removed key comes back.", do: func(t *testing.T, cm *corev1.ConfigMap) error {
			cm.Data = nil
			return tc.Update(t.Context(), cm)
		}},
		"Deleted": {reason: "A deleted resource comes back.", do: func(t *testing.T, cm *corev1.ConfigMap) error {
			return tc.Delete(t.Context(), cm)
		}},
		"Unlabelled": {
			reason: "A resource that lost our label is labelled again.",
			do: func(t *testing.T, cm *corev1.ConfigMap) error {
				cm.Labels, cm.Data["color"] = nil, "red"
				return tc.Update(t.Context(), cm)
			},
		},
		"TakenOver": {
			reason: "A field another manager has applied by force comes back.",
			do: func(t *testing.T, cm *corev1.ConfigMap) error {
				cm = &corev1.ConfigMap{
					TypeMeta: cm.TypeMeta, ObjectMeta: nameOnly(cm), Data: map[string]string{"color": "red"},
				}
				cm.APIVersion, cm.Kind = "v1", "ConfigMap"
				return tc.Patch(t.Context(), cm, client.Apply, client.ForceOwnership, client.FieldOwner("intruder"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
				key := types.NamespacedName{Namespace: w.target, Name: "settings"}
				want := map[string]string{"color": "blue"}
				if err := drift.do(t, awaitData(t, w.tc, key, want)); err != nil {
					t.Fatalf("%s\ncannot drift: %v", drift.reason, err)
				}
				kube.Eventually(t, "the label and data to come back", func() (bool, string) {
					cm := &corev1.ConfigMap{}
					if err := w.tc.Get(t.Context(), key, cm); err != nil {
						return false, err.Error()
					}
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
		w, who := newWorldAs(t, c, s)
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		cm := awaitData(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "settings"},
			map[string]string{"color": "blue"})

		audit := target.Audit(t)
		mark := audit.Mark()
		cm.Data["shape"] = "round"
		cm.Labels["theirs"] = "yes"
		kube.Update(t, w.tc, cm)
		// The status shows the change, so it has been seen.
		kube.Await(t, c, o, "the change to be observed", func() (bool, string) {
			seen := observed(t, o)
			return cmp.Equal(seen.Data, cm.Data), cmp.Diff(cm.Data, seen.Data)
		})
		if diff := cmp.Diff(map[string]int{}, audit.Since(mark).By(who).Count(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("requests on the target: -want, +got:\n%s", diff)
		}
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
				theirs := &corev1.ConfigMap{
					ObjectMeta: build.Meta(w.target, "settings"), Data: map[string]string{"color": "blue"},
				}
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
