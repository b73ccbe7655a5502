package object_test

import (
	"testing"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestDeletionBesideMuteWatch shows that an Object goes with its resource although the watch, which a proxy keeps open,
// tells nothing any more.
func TestDeletionBesideMuteWatch(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		server := hostile.NewServer(t, targetUser(t), hostile.Options{})
		ns, pc := connect(t, w.c, w.scope, server.Config())
		o := w.scope.Object(ns, w.target+"-muted", pc, build.ConfigMap(w.target, "muted", "color", "blue"))
		kube.Create(t, w.c, o)
		awaitReady(t, w.c, o)
		server.Set(hostile.Find(t, "Mute"), hostile.Watch)
		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.tc, w.kept("muted"))
	})
}
