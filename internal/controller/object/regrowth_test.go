package object_test

import (
	"testing"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
)

// grower returns a keeper and an Object that refers to it, and that only looks at and deletes a ConfigMap. Both are ready.
func grower(t *testing.T, w world) (maker, made build.Object) {
	t.Helper()
	maker, made = w.keeper("maker"), w.keeper("made", w.on("maker"))
	made.SetManagementPolicies(observeDelete)
	create(t, w.tc, w.kept("made"))
	for _, o := range []build.Object{maker, made} {
		create(t, w.c, o)
		awaitReady(t, w.c, o)
	}
	return maker, made
}

// TestMadeAgain shows that what others make and an Object deletes is deleted again and again, until what the Object refers to is gone: that
// may be what makes it, as a Subscription of OLM does.
func TestMadeAgain(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		maker, made := grower(t, w)
		awaitPinned(t, c, made, maker, true)
		release := hold(t, w.tc, w.kept("maker"))
		remove(t, c, maker)
		remove(t, c, made)
		awaitPinned(t, c, made, maker, false)
		for range 3 {
			awaitGone(t, w.tc, w.kept("made"))
			create(t, w.tc, w.kept("made"))
		}
		awaitGone(t, w.tc, w.kept("made"))
		awaitCondition(t, c, made, failed(commonv1.ReasonWaitingForReference))

		release()
		awaitGone(t, c, maker)
		awaitGone(t, c, made)
	})
}

// TestMadeByWhatStays shows that an Object does not wait for what it refers to if that stays.
func TestMadeByWhatStays(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		maker, made := grower(t, w)
		remove(t, c, made)
		awaitGone(t, c, made)
		awaitGone(t, w.tc, w.kept("made"))
		awaitPinned(t, c, made, maker, false)
	})
}
