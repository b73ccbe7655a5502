package object_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// deleting is condition Ready of an Object whose resource is not gone yet.
var deleting = wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse, Reason: xpv2.ReasonDeleting}

// awaitMessage waits until the message of a condition of an Object is as wanted.
func awaitMessage(t *testing.T, c client.Client, o build.Object, in wantCondition, want string) {
	t.Helper()
	kube.Await(t, c, o, in.String()+": "+want, func() (bool, string) {
		got := o.GetCondition(in.Type)
		return got.Status == in.Status && got.Reason == in.Reason &&
			got.Message == want, string(got.Reason) + ": " + got.Message
	})
}

// TestStuckDeletionSaysWhy shows that a deleted Object names the finalizers its resource waits for, as they come and
// go.
func TestStuckDeletionSaysWhy(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		cm := emptySettings(w.target)
		merge(t, w.tc, cm, false, `{"metadata":{"finalizers":["example.org/hold","example.org/account"]}}`)
		kube.Delete(t, w.c, o)
		awaitMessage(t, w.c, o, deleting,
			"Waiting for ConfigMap "+w.target+"/settings; finalizers: example.org/account, example.org/hold")
		awaitCondition(t, w.c, o, synced)
		merge(t, w.tc, cm, false, `{"metadata":{"finalizers":["example.org/hold"]}}`)
		awaitMessage(t, w.c, o, deleting, "Waiting for ConfigMap "+w.target+"/settings; finalizers: example.org/hold")
		staysUnwritten(t, w.c, o)
		merge(t, w.tc, cm, false, `{"metadata":{"finalizers":null}}`)
		kube.AwaitGone(t, w.c, o)
	})
}

// TestStuckNamespaceSaysWhy shows that a deleted Object repeats what a Namespace says that is not gone. No controller
// works on this target: the test says and does what that of namespaces would.
func TestStuckNamespaceSaysWhy(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		name := w.target + "-team"
		o := w.keep(t, build.Namespace(name))
		kube.Delete(t, w.c, o)
		awaitMessage(t, w.c, o, deleting, "Waiting for Namespace "+name+"; finalizers: kubernetes")
		ns := &corev1.Namespace{ObjectMeta: build.Meta("", name)}
		merge(t, w.tc, ns, true, `{"status":{"conditions":[
			{"type":"NamespaceDeletionDiscoveryFailure","status":"False","reason":"ResourcesDiscovered",`+
			`"message":"All resources successfully discovered"},
			{"type":"NamespaceFinalizersRemaining","status":"True","reason":"SomeFinalizersRemain",`+
			`"message":"Some content has finalizers: x in 1"},
			{"type":"NamespaceContentRemaining","status":"True","reason":"SomeResourcesRemain",`+
			`"message":"Some resources are remaining: pods. has 1"}]}}`)
		awaitMessage(t, w.c, o, deleting, "Waiting for Namespace "+name+"; finalizers: kubernetes; "+
			"NamespaceContentRemaining: Some resources are remaining: pods. has 1; "+
			"NamespaceFinalizersRemaining: Some content has finalizers: x in 1")
		kube.Get(t, w.tc, client.ObjectKeyFromObject(ns), ns)
		ns.Spec.Finalizers = nil
		if err := w.tc.SubResource("finalize").Update(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		kube.AwaitGone(t, w.c, o)
	})
}

// TestStuckReplacementSaysWhy shows that an Object names the finalizers which the resource waits for that it replaces.
func TestStuckReplacementSaysWhy(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		release := hold(t, w.tc, emptySettings(w.target))
		setManifest(t, w.c, o, build.ConfigMap(w.target, "other"))
		awaitMessage(t, w.c, o, failed(commonv1.ReasonReplacing),
			"Waiting until ConfigMap "+w.target+"/settings, which it replaces, is gone; finalizers: "+theirFinalizer)
		release()
		awaitReady(t, w.c, o)
	})
}
