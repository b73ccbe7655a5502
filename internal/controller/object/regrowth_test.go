package object_test

import (
	"testing"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// grower returns a keeper and an Object that refers to it, and that only looks at and deletes a ConfigMap. Both are
// ready, and the first is pinned.
func grower(t *testing.T, w world) (maker, made build.Object) {
	t.Helper()
	maker, made = w.keeper("maker"), w.keeper("made", w.on("maker"))
	made.SetManagementPolicies(observeDelete)
	kube.Create(t, w.tc, w.kept("made"))
	createReady(t, w.c, maker, made)
	awaitPinned(t, w.c, made, maker, true)
	return maker, made
}

// TestMadeAgain shows that what others make and an Object deletes is deleted again and again, until what the Object
// refers to is gone: that may be what makes it, as a Subscription of OLM does. While it waits, it writes nothing.
func TestMadeAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		end    func(t *testing.T, w world, made build.Object, goes func())
	}{
		"Told": {
			reason: "The Object waits to be told, and goes at once.",
			end:    func(_ *testing.T, _ world, _ build.Object, goes func()) { goes() },
		},
		"MadeAtLast": {
			reason: "What was made before the other Object had gone is looked for once more.",
			end: func(t *testing.T, w world, made build.Object, goes func()) {
				pause(t, w.c, made)
				kube.Create(t, w.tc, w.kept("made"))
				goes()
				unpause(t, w.c, made)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				maker, made := grower(t, w)
				release := hold(t, w.tc, w.kept("maker"))
				kube.Delete(t, w.c, maker)
				kube.Delete(t, w.c, made)
				awaitPinned(t, w.c, made, maker, false)
				for range 3 {
					kube.AwaitGone(t, w.tc, w.kept("made"))
					kube.Create(t, w.tc, w.kept("made"))
				}
				kube.AwaitGone(t, w.tc, w.kept("made"))
				awaitCondition(t, w.c, made, failed(commonv1.ReasonWaitingForReference), maker.GetName())
				staysUnwritten(t, w.c, made)
				tc.end(t, w, made, func() {
					release()
					kube.AwaitGone(t, w.c, maker)
				})
				kube.AwaitGone(t, w.c, made)
				w.exists(t, w.kept("made"), false)
			})
		})
	}
}

// TestMadeByWhatStays shows that an Object does not wait for what it refers to if that stays, and then deletes only
// what it has seen.
func TestMadeByWhatStays(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		remake func(t *testing.T, w world) // while the Object does not look
		want   bool                        // whether the resource survives
	}{
		"Seen": {
			reason: "What the Object has seen goes with it.",
			remake: func(*testing.T, world) {},
		},
		"MadeAgain": {
			reason: "What others have made since stays: they might make it for ever.",
			remake: func(t *testing.T, w world) {
				kube.Delete(t, w.tc, w.kept("made"))
				kube.Create(t, w.tc, w.kept("made"))
			},
			want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				maker, made := grower(t, w)
				pause(t, w.c, made)
				tc.remake(t, w)
				kube.Delete(t, w.c, made)
				unpause(t, w.c, made)
				kube.AwaitGone(t, w.c, made)
				awaitPinned(t, w.c, made, maker, false)
				w.exists(t, w.kept("made"), tc.want)
			})
		})
	}
}
