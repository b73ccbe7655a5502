package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestFailureIsWrittenOnce shows that an Object which fails again and again for one reason is not written again:
// neither its reason, nor its message, nor the time since when it fails changes.
func TestFailureIsWrittenOnce(t *testing.T) {
	c := provide(t)
	sick := []sickness{
		unknownKind(), withoutNamespace(), missingNamespace(), forbidden(), invalidBySchema(), missingProviderConfig(),
		missingSecret(),
		unreachable("does not listen", kube.Refused), unreachable("does not answer", kube.BlackHole),
	}
	forScopesBeside(t, func(t *testing.T, scope build.Scope) {
		objs, before := make([]build.Object, len(sick)), make([]xpv2.Condition, len(sick))
		for i, s := range sick {
			objs[i] = s.make(t, newWorld(t, c, scope))
			kube.Create(t, c, objs[i])
		}
		for i, s := range sick {
			awaitCondition(t, c, objs[i], failed(s.want), s.message)
			before[i] = objs[i].GetCondition(xpv2.TypeSynced)
			touch(t, c, objs[i]) // What needs no retry is tried again too.
		}
		staysUnwritten(t, c, objs...)
		for i, s := range sick {
			if diff := cmp.Diff(before[i], objs[i].GetCondition(xpv2.TypeSynced)); diff != "" {
				t.Errorf("%s\ncondition Synced after some retries: -first, +last:\n%s", s.reason, diff)
			}
		}
		forsake(t, c, objs...)
	})
}

// unreachable is a target at an address that gives no answer.
func unreachable(does string, address func(testing.TB) string) sickness {
	return sickness{
		reason: "A target that " + does + " is reported once.",
		make: func(t *testing.T, w world) build.Object {
			w.config = connectAs(t, w, nowhere(address(t)))
			return w.object(build.ConfigMap(w.target, "settings"))
		},
		want: commonv1.ReasonTargetUnreachable,
		heal: func(t *testing.T, w world, _ build.Object) {
			setKubeconfig(t, w.c, w.namespace, "other", kube.Kubeconfig(t, targetUser(t)))
		},
	}
}

// TestKnownKindEndsDiscovery shows that a target is not asked for a kind any more once the manifest names another.
// A defect of provider-kubernetes: it dereferences nil where the version of a kind is known, and the kind is not.
func TestKnownKindEndsDiscovery(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		m := build.ConfigMap(w.target, "settings", "color", "blue")
		m["kind"] = "ConfigMapp"
		o := w.object(m)
		kube.Create(t, c, o)
		awaitCondition(t, c, o, failed(commonv1.ReasonUnknownKind))
		setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "blue"))
		awaitReady(t, c, o)
		w.asksNothing(t, o)
	})
}
