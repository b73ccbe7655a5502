// Package restart_test shows what the next provider finds when the last one has stopped: a change whose write waited,
// and what cannot be read.
package restart_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const admins = "system:masters"

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// start runs the provider until it is stopped.
func start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	wait := provider.StartUntil(t, ctx, local.User(t, "provider", admins))
	stop = func() { cancel(); wait() }
	t.Cleanup(stop)
	return stop
}

// TestUnreadableObjects shows that Objects which are too deep, or have too many values, stop no other before and after
// a restart, say so themselves and change nothing, and are as any other once they are repaired or gone.
func TestUnreadableObjects(t *testing.T) {
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	c, tc, s := local.Client(t, apis.AddToScheme), target.Client(t), build.Namespaced()
	stop := start(t)
	ns, bad, tns := local.Namespace(t), local.Namespace(t), target.Namespace(t)
	for _, ns := range []string{ns, bad} {
		kube.Create(t, c, build.Credentials(ns, "credentials", kube.Kubeconfig(t, target.User(t, ns, admins))),
			s.Config(ns, "target", build.FromSecret(ns, "credentials")))
	}
	deep, many := build.ConfigMap(tns, "deep"), build.ConfigMap(tns, "many")
	deep["data"], many["data"] = build.Nested(9900), slices.Repeat([]any{[]any{}}, 480000)
	was := build.ConfigMap(tns, "was", "a", "b")
	unreadable := map[string]build.Object{
		"2000 levels":   s.Object(bad, "deep", "target", deep),
		"838860 values": s.Object(bad, "many", "target", many),
		"":              s.Object(bad, "was", "target", was),
	}
	kube.Create(t, c, unreadable[""])
	provider.AwaitReady(t, c, unreadable[""])
	kept := &corev1.ConfigMap{}
	kube.Get(t, tc, types.NamespacedName{Namespace: tns, Name: "was"}, kept)
	setManifest(t, c, unreadable[""], deep)
	kube.Create(t, c, unreadable["2000 levels"], unreadable["838860 values"])
	for _, name := range []string{"before", "after"} {
		o := s.Object(ns, name, "target", build.ConfigMap(tns, name, "a", "b"))
		kube.Create(t, c, o)
		provider.AwaitReady(t, c, o)
		for why, o := range unreadable {
			kube.Await(t, c, o, o.GetName()+" to say why it cannot be read", func() (bool, string) {
				m := o.GetCondition(xpv2.TypeSynced).Message
				return strings.Contains(m, bad+"/"+o.GetName()) && strings.Contains(m, why), m
			})
		}
		stop()
		stop = start(t)
	}
	now := &corev1.ConfigMap{}
	kube.Get(t, tc, client.ObjectKeyFromObject(kept), now)
	if now.UID != kept.UID || now.ResourceVersion != kept.ResourceVersion {
		t.Errorf("the resource of an Object that cannot be read is changed: %v", now)
	}
	kube.Remove(t, c, unreadable["838860 values"])
	for _, o := range []build.Object{unreadable[""], unreadable["2000 levels"]} {
		setManifest(t, c, o, build.ConfigMap(tns, o.GetName(), "a", "b"))
		provider.AwaitReady(t, c, o)
	}
}

// TestUnlabelledSurvivesRestart shows that the next provider follows a resource that admission takes our label off, and
// writes nothing before somebody changes it.
func TestUnlabelledSurvivesRestart(t *testing.T) {
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	c, tc, s := local.Client(t, apis.AddToScheme), target.Client(t), build.Namespaced()
	stop := start(t)
	ns, tns := local.Namespace(t), target.Namespace(t)
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(tns, "settings")}
	probe := cm.DeepCopy()
	probe.SetLabels(map[string]string{commonv1.LabelKeyManaged: commonv1.LabelValueManaged})
	kube.Mutate(t, tc, tns, "configmaps", probe, func(u *unstructured.Unstructured) { u.SetLabels(nil) })
	o := s.Object(ns, "settings", "target", build.ConfigMap(tns, "settings", "ours", "yes"))
	kube.Create(t, c, build.Credentials(ns, "credentials", kube.Kubeconfig(t, target.User(t, ns, admins))),
		s.Config(ns, "target", build.FromSecret(ns, "credentials")), o)
	contested := func() {
		t.Helper()
		kube.Await(t, c, o, "the label to be named", func() (bool, string) {
			s := o.GetCondition(xpv2.TypeSynced)
			return s.Reason == commonv1.ReasonContested && strings.Contains(s.Message, commonv1.LabelKeyManaged), s.Message
		})
	}
	contested()
	stop()
	audit := target.Audit(t)
	mark := audit.Mark()
	start(t)
	kube.Eventually(t, "the resource to be watched by its name", func() (bool, string) {
		all := audit.Watches(mark).By(ns)
		return len(all) > 1, all.String()
	})
	for _, drift := range []string{"no", "never"} {
		if written := audit.Since(mark).By(ns).Writes(); drift == "no" && len(written) > 0 {
			t.Errorf("want no write after a restart, got %s", written)
		}
		kube.Patch(t, tc, cm, `{"data":{"ours":"`+drift+`"}}`)
		kube.Await(t, tc, cm, "the drift to be reverted", func() (bool, string) {
			return cm.Data["ours"] == "yes", cm.Data["ours"]
		})
	}
	contested()
	kube.Remove(t, c, o)
}

// TestRecreationSurvivesRestart shows that a resource which the last provider has deleted, to make it again, and which
// has gone while none ran, is made once by the next.
func TestRecreationSurvivesRestart(t *testing.T) {
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	c, tc, s := local.Client(t, apis.AddToScheme), target.Client(t), build.Namespaced()
	stop := start(t)
	ns, tns := local.Namespace(t), target.Namespace(t)
	settings := func(color string) build.Manifest {
		m := build.ConfigMap(tns, "settings", "color", color)
		m["immutable"] = true
		return m
	}
	o := s.Object(ns, "settings", "target", settings("blue"))
	o.Desired().ForProvider.OnImmutableChange = commonv1.ImmutableChangeRecreate
	o.Desired().ForProvider.DeletionPropagationPolicy = metav1.DeletePropagationForeground
	kube.Create(t, c, build.Credentials(ns, "credentials", kube.Kubeconfig(t, target.User(t, ns, admins))),
		s.Config(ns, "target", build.FromSecret(ns, "credentials")), o)
	provider.AwaitReady(t, c, o)
	setManifest(t, c, o, settings("red"))
	kube.Await(t, c, o, "the resource to be waited for", func() (bool, string) {
		s := o.GetCondition(xpv2.TypeSynced)
		return s.Reason == commonv1.ReasonReplacing, s.Message
	})
	stop()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(tns, "settings")}
	kube.Patch(t, tc, cm, `{"metadata":{"finalizers":null}}`) // As the garbage collector does.
	kube.AwaitGone(t, tc, cm)
	mark := target.Audit(t).Mark()
	start(t)
	kube.Await(t, c, o, "the resource to be made", func() (bool, string) {
		s := o.GetCondition(xpv2.TypeSynced)
		return s.Status == corev1.ConditionTrue, s.Message
	})
	kube.Get(t, tc, client.ObjectKeyFromObject(cm), cm)
	if cm.Data["color"] != "red" {
		t.Errorf("data: want the manifest as it is now, got %v", cm.Data)
	}
	if written := target.Audit(t).Since(mark).By(ns).Writes(); len(written) != 1 {
		t.Errorf("writes after the restart: want one, got %s", written)
	}
	kube.Delete(t, c, o)
}

// setManifest sets the manifest of an Object.
func setManifest(t *testing.T, c client.Client, o build.Object, m build.Manifest) {
	t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	kube.Patch(t, c, o, `{"spec":{"forProvider":{"manifest":`+string(raw)+`}}}`)
}
