package object_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestOtherKindOfConfigIsNamed shows that an Object which refers to a ProviderConfig is told of the
// ClusterProviderConfig of that name, if that is all there is, and works once it refers to that.
func TestOtherKindOfConfigIsNamed(t *testing.T) {
	c, s := provide(t), build.Namespaced()
	w := newWorld(t, c, s)
	name := w.namespace + "-shared"
	kube.Create(t, c, build.ClusterConfig(name, build.FromSecret(w.namespace, "credentials")))
	o := w.object(build.ConfigMap(w.target, "settings"))
	setConfig(o, name)
	kube.Create(t, c, o)
	awaitCondition(t, c, o, failed(commonv1.ReasonInvalidConnection),
		`ProviderConfig "`+name+`" does not exist in namespace "`+w.namespace+
			`", but a ClusterProviderConfig of that name does: set kind: ClusterProviderConfig in spec.providerConfigRef`)
	kube.Edit(t, c, o, func() { build.Through(o, name) })
	awaitReady(t, c, o)
}

// TestColumnsAreOfOneCondition shows that kubectl's columns REASON and MESSAGE tell of one condition, also if another
// one is False, too, and has no message; and that they are empty, and name the resource, if all is well.
func TestColumnsAreOfOneCondition(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.object(build.ConfigMap("no-"+w.target, "settings"))
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, wantCondition{Type: xpv2.TypeReady, Status: "False"}, "namespace")
		message := awaitCondition(t, w.c, o, failed(commonv1.ReasonNamespaceMissing))

		gvk, err := w.c.GroupVersionKindFor(o)
		if err != nil {
			t.Fatal(err)
		}
		got := local.Columns(t, gvk.GroupVersion().WithResource("objects"), client.ObjectKeyFromObject(o))
		if got["REASON"] != string(commonv1.ReasonNamespaceMissing) || got["MESSAGE"] != message {
			t.Errorf("want reason NamespaceMissing and message %q, got %v and %v", message, got["REASON"], got["MESSAGE"])
		}

		well := w.keeper("well")
		well.Desired().Readiness = commonv1.Readiness{Policy: commonv1.ReadinessSuccessfulCreate, CelQuery: "true"}
		createReady(t, w.c, well)
		got = local.Columns(t, gvk.GroupVersion().WithResource("objects"), client.ObjectKeyFromObject(well))
		if got["REASON"] != nil || got["MESSAGE"] != nil || got["METANAME"] != "well" || got["METANAMESPACE"] != w.target {
			t.Errorf("want no reason, no message, and well in %s, got %v", w.target, got)
		}
	})
}

// TestDeniedDeletionIsNamed shows that a policy which denies to delete a resource is no fault of a manifest, and that
// the deletion goes on when it is gone.
func TestDeniedDeletionIsNamed(t *testing.T) {
	t.Parallel()
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	o := w.keep(t, build.ConfigMap(w.target, "settings"))
	binding := deny(t, w.tc, w.target, `{
		"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"`+w.target+`"}},
		"resourceRules":[{"apiGroups":[""],"apiVersions":["*"],"operations":["DELETE"],"resources":["configmaps"]}]}`,
		"false")
	kube.Eventually(t, "the policy", func() (bool, string) {
		err := w.tc.Delete(t.Context(), emptySettings(w.target), client.DryRunAll)
		return apierrors.IsInvalid(err), message(err)
	})
	kube.Delete(t, c, o)
	awaitCondition(t, c, o, failed(commonv1.ReasonForbidden), denied)
	kube.Delete(t, w.tc, binding)
	kube.AwaitGone(t, c, o)
}

// TestTerminatingKindIsNamed shows that a custom resource whose CustomResourceDefinition is being deleted lacks no
// right: the kind is about to go.
func TestTerminatingKindIsNamed(t *testing.T) {
	t.Parallel()
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	group := w.target + ".example.org"
	d := build.Definition(group, "gates")
	kube.Create(t, w.tc, d)
	gate := func(name string) build.Manifest {
		return build.Manifest(parse(t, `{"apiVersion":"`+group+`/v1","kind":"Gate",
			"metadata":{"namespace":"`+w.target+`","name":"`+name+`","finalizers":["example.org/stays"]}}`).Object)
	}
	first := w.scope.Object(w.namespace, w.target+"-first", w.config, gate("first"))
	first.SetManagementPolicies(neverDelete)
	createReady(t, c, first)
	kube.Delete(t, w.tc, d)
	kube.Eventually(t, "the CustomResourceDefinition to be terminating", func() (bool, string) {
		late := parse(t, `{"apiVersion":"`+group+`/v1","kind":"Gate","metadata":{"namespace":"`+w.target+`","name":"x"}}`)
		err := w.tc.Create(t.Context(), late, client.DryRunAll)
		return apierrors.IsForbidden(err), message(err)
	})
	second := w.scope.Object(w.namespace, w.target+"-second", w.config, gate("second"))
	kube.Create(t, c, second)
	awaitCondition(t, c, second, failed(commonv1.ReasonUnknownKind), "definition is terminating")
	unpin(t, w.tc, parse(t, `{"apiVersion":"`+group+`/v1","kind":"Gate","metadata":{"namespace":"`+w.target+
		`","name":"first"}}`))
	kube.AwaitGone(t, w.tc, d)
	kube.Create(t, w.tc, build.Definition(group, "gates"))
	awaitReady(t, c, second)
}

// TestFailureIsWrittenOnce shows that an Object which fails again and again for one reason is not written again:
// neither its reason, nor its message, nor the time since when it fails changes.
func TestFailureIsWrittenOnce(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, scope build.Scope) {
		sick := sicknesses(t)
		sickly := map[string]build.Object{}
		for name, s := range sick {
			sickly[name] = s.make(t, newWorld(t, c, scope))
			kube.Create(t, c, sickly[name])
		}
		before := map[string]xpv2.Condition{}
		for name, o := range sickly {
			awaitCondition(t, c, o, failed(sick[name].want), sick[name].message)
			before[name] = o.GetCondition(xpv2.TypeSynced)
			touch(t, c, o) // What needs no retry is tried again too.
		}
		objs := slices.Collect(maps.Values(sickly))
		staysUnwritten(t, c, objs...)
		for name, o := range sickly {
			if diff := cmp.Diff(before[name], o.GetCondition(xpv2.TypeSynced)); diff != "" {
				t.Errorf("%s: condition Synced after some retries: -first, +last:\n%s", name, diff)
			}
		}
		forsake(t, c, objs...)
	})
}

// TestOutageIsShownLate shows that an outage which is over soon is written on the ProviderConfig alone. Of a longer one
// Objects tell, without an event, and they heal soon after it, with the watch. A new Object tells of it at once, and a
// deleted one leaves its resource if it may.
func TestOutageIsShownLate(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		proxy, cfg := kube.NewProxy(t, targetUser(t))
		w := newWorldOf(t, c, s, cfg)
		objs, pc := w.crowd(t, 20), readConfig(t, c, s, w.namespace, w.config)
		awaitReady(t, c, objs...)
		mark := local.Audit(t).Mark()
		begin := func() {
			proxy.Cut(math.MaxInt)
			pc.await(t, corev1.ConditionFalse, commonv1.ReasonTargetUnreachable)
		}
		end := func() {
			proxy.Cut(0)
			pc.await(t, corev1.ConditionTrue, commonv1.ReasonTargetAnswers)
		}
		begin()
		setManifest(t, c, objs[0], build.ConfigMap(w.target, "0", "color", "red"))
		for _, o := range objs {
			touch(t, c, o)
		}
		passQueue(t, c)
		end()
		w.awaitData(t, "0", "color", "red")
		if written := writes(t, mark, objs[1:]...); len(written) > 0 {
			t.Errorf("want no writes of Objects by a short outage, got:\n%s", strings.Join(written, "\n"))
		}

		begin()
		released, others, made := objs[1], objs[2:], w.keeper("new")
		kube.Edit(t, c, released, func() { released.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan })
		kube.Delete(t, c, released)
		kube.Create(t, c, made)
		for _, o := range append(others, made) {
			awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable), w.config)
		}
		kube.AwaitGone(t, c, released)
		end()
		awaitReady(t, c, append(others, made)...)
		w.exists(t, w.kept("1"), true)
		kube.Patch(t, w.tc, w.kept("2"), `{"data":{"color":"red"}}`)
		w.awaitData(t, "2", "color", "blue")
		for _, o := range others {
			if got := events(t, c, o, "target is unreachable"); len(got) > 0 {
				t.Errorf("events about %s: want none, got %q", o.GetName(), got)
			}
		}
	})
}
