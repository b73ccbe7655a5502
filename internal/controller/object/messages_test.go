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
// one is False, too, and has no message.
func TestColumnsAreOfOneCondition(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.object(build.ConfigMap("no-"+w.target, "settings"))
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, wantCondition{Type: xpv2.TypeReady, Status: "False"})
		message := awaitCondition(t, w.c, o, failed(commonv1.ReasonNamespaceMissing))

		gvk, err := w.c.GroupVersionKindFor(o)
		if err != nil {
			t.Fatal(err)
		}
		got := local.Columns(t, gvk.GroupVersion().WithResource("objects"), client.ObjectKeyFromObject(o))
		if got["REASON"] != string(commonv1.ReasonNamespaceMissing) || got["MESSAGE"] != message {
			t.Errorf("want reason NamespaceMissing and message %q, got %v and %v", message, got["REASON"], got["MESSAGE"])
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

// An outage is a world whose target can be cut off.
type outage struct {
	world

	proxy  *kube.Proxy
	config config
}

// begin cuts the target off, and waits until the ProviderConfig says so.
func (o outage) begin(t *testing.T) {
	t.Helper()
	o.proxy.Cut(math.MaxInt)
	o.config.await(t, corev1.ConditionFalse, commonv1.ReasonTargetUnreachable)
}

// end connects the target again, and waits until the ProviderConfig says so.
func (o outage) end(t *testing.T) {
	t.Helper()
	o.proxy.Cut(0)
	o.config.await(t, corev1.ConditionTrue, commonv1.ReasonTargetAnswers)
}

// leave deletes an Object that may leave its resource.
func (o outage) leave(t *testing.T, obj build.Object) {
	t.Helper()
	kube.Edit(t, o.c, obj, func() { obj.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan })
	kube.Delete(t, o.c, obj)
}

// told returns how many events about each resource of a name say that the target does not answer.
func (o outage) told(t *testing.T) map[string]int {
	t.Helper()
	l, told := &corev1.EventList{}, map[string]int{}
	kube.List(t, o.c, l)
	for _, e := range l.Items {
		name := e.InvolvedObject.Name
		ours := name == o.world.config || strings.HasPrefix(name, o.target)
		if ours && strings.Contains(e.Message, "target is unreachable") && e.Reason != leftResource {
			told[name] += int(max(1, e.Count))
		}
	}
	return told
}

// TestShortOutageIsNotShown shows that an outage which is over soon is written on the ProviderConfig alone, that
// changes and deletions of that time are carried out afterwards, and that no resource is left for it.
func TestShortOutageIsNotShown(t *testing.T) {
	forOutages(t, func(t *testing.T, o outage, objs []build.Object) {
		mark := local.Audit(t).Mark()
		o.begin(t)
		doomed, changed := objs[0], objs[1]
		o.leave(t, doomed)
		setManifest(t, o.c, changed, build.ConfigMap(o.target, "1", "color", "red"))
		for _, x := range objs[2:] {
			touch(t, o.c, x)
		}
		passQueue(t, o.c)
		o.end(t)
		kube.AwaitGone(t, o.c, doomed)
		kube.AwaitGone(t, o.tc, o.kept("0"))
		o.awaitData(t, "1", "color", "red")
		checkUnwritten(t, mark, objs[2:]...)
		staysUnwritten(t, o.c, objs[2:]...)
		if diff := cmp.Diff(map[string]int{o.world.config: 1}, o.told(t)); diff != "" {
			t.Errorf("events: -want, +got:\n%s", diff)
		}
	})
}

// TestLongOutageIsShown shows that Objects report a longer outage, without an event, and heal soon after it, with the
// watch. A new Object reports it at once. A deleted Object leaves its resource if it may.
func TestLongOutageIsShown(t *testing.T) {
	forOutages(t, func(t *testing.T, o outage, objs []build.Object) {
		o.begin(t)
		released, others := objs[0], objs[1:]
		o.leave(t, released)
		made := o.keeper("new")
		kube.Create(t, o.c, made)
		for _, x := range append(others, made) {
			awaitCondition(t, o.c, x, failed(commonv1.ReasonTargetUnreachable))
		}
		kube.AwaitGone(t, o.c, released)
		o.end(t)
		awaitReady(t, o.c, append(others, made)...)
		o.exists(t, o.kept("0"), true)
		kube.Patch(t, o.tc, o.kept("1"), `{"data":{"color":"red"}}`)
		o.awaitData(t, "1", "color", "blue")
		told := o.told(t)
		delete(told, made.GetName())
		if diff := cmp.Diff(map[string]int{o.world.config: 1}, told); diff != "" {
			t.Errorf("events, but for those of a new Object: -want, +got:\n%s", diff)
		}
	})
}

// forOutages runs a test in each scope with Objects that are ready.
func forOutages(t *testing.T, f func(*testing.T, outage, []build.Object)) {
	t.Helper()
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		proxy, cfg := kube.NewProxy(t, targetUser(t))
		w := newWorldOf(t, c, s, cfg)
		objs := w.crowd(t, 20)
		awaitReady(t, c, objs...)
		f(t, outage{world: w, proxy: proxy, config: readConfig(t, c, s, w.namespace, w.config)}, objs)
	})
}
