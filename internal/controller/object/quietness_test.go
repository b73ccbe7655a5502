package object_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

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
			ns, pc := connect(t, c, scope, targetUser(t))
			objs[i] = s.make(t, world{
				c: c, tc: target.Client(t), scope: scope, namespace: ns, config: pc, target: target.Namespace(t),
			})
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
			abandon(t, c, objs[i])
		}
	})
}

// unreachable is a target at an address that gives no answer.
func unreachable(does string, address func(testing.TB) string) sickness {
	return sickness{
		reason: "A target that " + does + " is reported once.",
		make: func(t *testing.T, w world) build.Object {
			pc := connectAs(t, w, nowhere(address(t)))
			o := w.object(build.ConfigMap(w.target, "settings"))
			setConfig(o, pc)
			return o
		},
		want: commonv1.ReasonTargetUnreachable,
		heal: func(t *testing.T, w world, _ build.Object) {
			setKubeconfig(t, w.c, w.namespace, "other", kube.Kubeconfig(t, targetUser(t)))
		},
	}
}

// abandon deletes an Object whose target may not answer.
func abandon(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	kube.Delete(t, c, o)
	err := c.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// TestCutConnectionIsNoOutage shows that a target whose connections break, and the next one too, but which then
// answers, is not called unreachable: of 20 settled Objects none is written. The watch comes back.
func TestCutConnectionIsNoOutage(t *testing.T) {
	const count = 20
	c, tc := provide(t), target.Client(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		tns := target.Namespace(t)
		proxy, cfg := kube.NewProxy(t, targetUser(t))
		ns, pc := connect(t, c, s, cfg)
		objs := make([]build.Object, 0, count)
		for i := range count {
			o := s.Object(ns, fmt.Sprintf("%s-%d", tns, i), pc,
				build.ConfigMap(tns, fmt.Sprintf("settings-%d", i), "color", "blue"))
			kube.Create(t, c, o)
			objs = append(objs, o)
		}
		for _, o := range objs {
			awaitReady(t, c, o)
		}
		proxy.Cut(1)
		staysUnwritten(t, c, objs...)

		key := types.NamespacedName{Namespace: tns, Name: "settings-0"}
		want := map[string]string{"color": "blue"}
		cm := awaitData(t, tc, key, want)
		cm.Data["color"] = "red"
		kube.Update(t, tc, cm)
		awaitData(t, tc, key, want)
	})
}

// TestKnownKindEndsDiscovery shows that a target is not asked for a kind any more once the manifest names another.
// A defect of provider-kubernetes: it dereferences nil where the version of a kind is known, and the kind is not.
func TestKnownKindEndsDiscovery(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		w, who := newWorldAs(t, c, s)
		m := build.ConfigMap(w.target, "settings", "color", "blue")
		m["kind"] = "ConfigMapp"
		o := w.object(m)
		kube.Create(t, c, o)
		awaitCondition(t, c, o, failed(commonv1.ReasonUnknownKind))
		setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "blue"))
		awaitReady(t, c, o)

		audit := target.Audit(t)
		mark := audit.Mark()
		holds(t, c, "no request by "+who, func() (bool, string) {
			diff := cmp.Diff(map[string]int{}, audit.Since(mark).By(who).Count(), cmpopts.EquateEmpty())
			return diff == "", "-want, +got:\n" + diff
		}, o)
	})
}
