package object_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
	edit(t, o.c, obj, func() { obj.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan })
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
