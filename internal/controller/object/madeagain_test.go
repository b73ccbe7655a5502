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
	for name, end := range map[string]func(t *testing.T, w world, made build.Object, goes func()){
		// The Object waits to be told, and goes at once.
		"Told": func(_ *testing.T, _ world, _ build.Object, goes func()) { goes() },
		// What was made before the other Object had gone is looked for once more.
		"MadeAtLast": func(t *testing.T, w world, made build.Object, goes func()) {
			pause(t, w.c, made)
			kube.Create(t, w.tc, w.kept("made"))
			goes()
			unpause(t, w.c, made)
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
				end(t, w, made, func() {
					release()
					kube.AwaitGone(t, w.c, maker)
				})
				kube.AwaitGone(t, w.c, made)
				w.exists(t, w.kept("made"), false)
			})
		})
	}
}
