package object_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// outageObjects is the environment variable with the number of Objects.
	outageObjects = "OUTAGE_OBJECTS"
	// shortOutage is an outage that Objects do not report, and patience the time after which they do.
	shortOutage = 6 * time.Second
	patience    = 10 * time.Second
)

// An outage is some Objects whose target can be cut off.
type outage struct {
	world

	proxy *kube.Proxy
	from  kube.Mark
	objs  []build.Object
}

// newOutage makes Objects and waits until they are ready.
func newOutage(t *testing.T, c client.Client, s build.Scope, objects int) *outage {
	t.Helper()
	proxy, cfg := kube.NewProxy(t, targetUser(t))
	tns := target.Namespace(t)
	ns, pc := connect(t, c, s, cfg)
	out := &outage{proxy: proxy, objs: make([]build.Object, objects), world: world{
		c: c, tc: target.Client(t), scope: s, namespace: ns, config: pc, target: tns,
	}}
	for i := range out.objs {
		name := fmt.Sprintf("%s-%d", tns, i)
		out.objs[i] = s.Object(ns, name, pc, build.ConfigMap(tns, name, "color", "blue"))
		kube.Create(t, c, out.objs[i])
	}
	for _, o := range out.objs {
		awaitReady(t, c, o)
	}
	out.settle(t)
	return out
}

// settle waits until nothing is written any more, such as records of use, and counts from there.
func (o *outage) settle(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "nothing to be written", func() (bool, string) {
		o.from = local.Audit(t).Mark()
		for _, x := range o.objs {
			touch(t, o.c, x)
		}
		passQueue(t, o.c)
		writes := o.writes(t)
		return len(writes) == 0, writes.String()
	})
}

// begin cuts the target off, and waits until the ProviderConfig says so.
func (o *outage) begin(t *testing.T) {
	t.Helper()
	o.proxy.Cut(math.MaxInt)
	o.providerConfig(t).await(t, corev1.ConditionFalse, commonv1.ReasonTargetUnreachable)
}

// end connects the target again, and waits until the ProviderConfig says so.
func (o *outage) end(t *testing.T) {
	t.Helper()
	o.proxy.Cut(0)
	o.providerConfig(t).await(t, corev1.ConditionTrue, commonv1.ReasonTargetAnswers)
}

// providerConfig returns the ProviderConfig of the Objects.
func (o *outage) providerConfig(t *testing.T) config {
	t.Helper()
	return readConfig(t, o.c, o.scope, o.namespace, o.config)
}

// writes returns what the provider has written on the control plane since the Objects were settled.
func (o *outage) writes(t *testing.T) kube.Requests {
	t.Helper()
	var found kube.Requests
	for _, e := range local.Audit(t).Since(o.from).By(user) {
		ours := e.Namespace == o.namespace || strings.HasPrefix(e.Name, o.target) || strings.HasPrefix(e.Name, o.config)
		if ours && e.Verb != "get" && e.Verb != "list" {
			found = append(found, e)
		}
	}
	return found
}

// told returns how many events say that the target does not answer: of the ProviderConfig, and of all Objects.
func (o *outage) told(t *testing.T) (config, objects int) {
	t.Helper()
	l := &corev1.EventList{}
	kube.List(t, o.c, l)
	for _, e := range l.Items {
		about := e.InvolvedObject
		switch {
		case !strings.Contains(e.Message, "target is unreachable"), e.Reason == leftResource:
		case about.Kind != "Object" && about.Name == o.config && about.Namespace == o.providerConfig(t).pc.GetNamespace():
			config += int(max(1, e.Count))
		case about.Kind == "Object" && strings.HasPrefix(about.Name, o.target):
			objects += int(max(1, e.Count))
		}
	}
	return config, objects
}

// TestShortOutageIsWrittenOnce shows that an outage of 6 s is written on the ProviderConfig only. Changes and
// deletions from that time are carried out afterwards.
func TestShortOutageIsWrittenOnce(t *testing.T) {
	const most = 50
	objects, err := strconv.Atoi(cmp.Or(os.Getenv(outageObjects), "100"))
	if err != nil {
		t.Fatal(err)
	}
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		out := newOutage(t, c, s, objects)
		began := time.Now()
		out.begin(t)
		t.Logf("the ProviderConfig says it after %s", time.Since(began))
		doomed, changed := out.objs[0], out.objs[1]
		edit(t, c, doomed, func() { doomed.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan })
		kube.Delete(t, c, doomed)
		setManifest(t, c, changed, build.ConfigMap(out.target, changed.GetName(), "color", "red"))
		kube.Throughout(t, shortOutage-time.Since(began), "no Object says it", func() (bool, string) {
			for _, o := range out.objs {
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
					return false, err.Error()
				}
				if got := o.GetCondition(xpv2.TypeSynced); got.Status != corev1.ConditionTrue {
					return false, o.GetName() + ": " + conditions(o)
				}
			}
			return true, ""
		})
		out.end(t)
		kube.AwaitGone(t, c, doomed)
		kube.AwaitGone(t, out.tc, &corev1.ConfigMap{ObjectMeta: build.Meta(out.target, doomed.GetName())})
		awaitData(t, out.tc, client.ObjectKey{Namespace: out.target, Name: changed.GetName()},
			map[string]string{"color": "red"})
		staysUnwritten(t, c, out.objs[2:]...)
		writes := out.writes(t)
		t.Logf("%d writes of the provider", len(writes))
		if len(writes) > most {
			t.Errorf("an outage of %s with %d Objects: want at most %d writes, got %s", shortOutage, objects, most, writes)
		}
		if config, objs := out.told(t); config != 1 || objs != 0 {
			t.Errorf("events: want one of the ProviderConfig and none of Objects, got %d and %d", config, objs)
		}
	})
}

// TestLongOutageIsShown shows that Objects report a longer outage and heal soon after it. A new Object reports it at
// once. A deleted Object orphans its resource only after 10 s.
func TestLongOutageIsShown(t *testing.T) {
	const objects = 20
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		out := newOutage(t, c, s, objects)
		began := time.Now()
		out.begin(t)
		released := out.objs[0]
		edit(t, c, released, func() { released.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan })
		kube.Delete(t, c, released)
		kube.Figure(t, "for a new Object to say so", func() time.Duration {
			name := fmt.Sprintf("%s-new-%d", out.target, len(out.objs))
			o := s.Object(out.namespace, name, out.config, build.ConfigMap(out.target, name, "color", "blue"))
			made := time.Now()
			kube.Create(t, c, o)
			out.objs = append(out.objs, o)
			awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable))
			return time.Since(made)
		})
		for _, o := range out.objs[1:objects] {
			awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable))
			at := o.GetCondition(xpv2.TypeSynced).LastTransitionTime
			// The time in a condition is cut off to seconds.
			if waited := at.Sub(began); waited < patience-time.Second {
				t.Errorf("%s says it %s after the outage has begun, want %s", o.GetName(), waited, patience)
			}
		}
		kube.AwaitGone(t, c, released)
		out.end(t)
		for _, o := range out.objs[1:] {
			awaitReady(t, c, o)
		}
		out.exists(t, &corev1.ConfigMap{ObjectMeta: build.Meta(out.target, released.GetName())}, true)
		if config, objs := out.told(t); config != 1 || objs > len(out.objs)-objects {
			t.Errorf("events: want one of the ProviderConfig and none of Objects but new ones, got %d and %d", config, objs)
		}
	})
}
