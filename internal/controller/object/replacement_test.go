package object_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// theirFinalizer holds a resource on the target.
	theirFinalizer = "example.org/hold"
	// leftResource is the reason of events about resources that are left because they cannot be reached.
	leftResource = "LeftExternalResource"
)

// replacing is condition Synced of an Object whose old resource is not gone yet.
var replacing = failed(commonv1.ReasonReplacing)

// hold keeps a resource from going until the test ends.
func hold(t *testing.T, c client.Client, o client.Object) (release func()) {
	t.Helper()
	kube.Patch(t, c, o, `{"metadata":{"finalizers":["`+theirFinalizer+`"]}}`)
	return func() {
		t.Helper()
		kube.Patch(t, c, o, `{"metadata":{"finalizers":null}}`)
	}
}

// TestReplacedIsDeletedFirst shows that the resource which the manifest named before is deleted, and gone, before the
// one it names now is made.
//
// provider-kubernetes forgets the old resource (its #287).
func TestReplacedIsDeletedFirst(t *testing.T) {
	for name, change := range map[string]func(w world, other string) build.Manifest{
		"Name":      func(w world, _ string) build.Manifest { return build.ConfigMap(w.target, "renamed") },
		"Namespace": func(_ world, other string) build.Manifest { return build.ConfigMap(other, "settings") },
		"Kind": func(w world, _ string) build.Manifest {
			return nameOf("v1", "Secret", w.target, "settings")
		},
		"GroupAndKind": func(w world, _ string) build.Manifest {
			return nameOf("coordination.k8s.io/v1", "Lease", w.target, "settings")
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
				old := observed(t, o)
				release := hold(t, w.tc, old)

				wanted := &unstructured.Unstructured{Object: change(w, target.Namespace(t))}
				setManifest(t, w.c, o, wanted.Object)
				awaitMessage(t, w.c, o, replacing,
					"Waiting for the deletion of ConfigMap "+w.target+"/settings, which is replaced; finalizers: "+theirFinalizer)
				awaitCondition(t, w.c, o, wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse})
				w.exists(t, old, true)
				if old.GetDeletionTimestamp() == nil {
					t.Error("the old resource must be on its way out")
				}
				w.exists(t, wanted.DeepCopy(), false)

				release()
				awaitReady(t, w.c, o)
				w.exists(t, wanted, true)
				w.exists(t, old, false)
				kube.Remove(t, w.c, o)
				w.exists(t, wanted, false)
			})
		})
	}
}

// TestReplacedByPolicy shows what becomes of the old resource where policies do not make it go: what was made to stay
// stays, fields of a partial Object are taken back, and what was only looked at is not deleted for a change of mind.
func TestReplacedByPolicy(t *testing.T) {
	theirs := map[string]string{"theirs": "yes"}
	for name, test := range map[string]struct {
		policies xpv2.ManagementPolicies
		want     map[string]string // the data of the old resource afterwards
	}{
		"NeverDelete":   {policies: neverDelete, want: map[string]string{"theirs": "yes", "ours": "yes"}},
		"ObserveUpdate": {policies: observeUpdate, want: theirs},
		"ObserveDelete": {policies: observeDelete, want: theirs},
		"Observe":       {policies: observeOnly, want: theirs},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				for _, n := range []string{"settings", "renamed"} {
					cm := w.kept(n)
					cm.Data = theirs
					kube.Create(t, w.tc, cm)
				}
				o := w.object(build.ConfigMap(w.target, "settings", "ours", "yes"))
				o.SetManagementPolicies(test.policies)
				createReady(t, w.c, o)
				setManifest(t, w.c, o, build.ConfigMap(w.target, "renamed", "ours", "yes"))
				kube.Await(t, w.c, o, "the Object to see the other resource", func() (bool, string) {
					got := observed(t, o).GetName()
					return got == "renamed", got
				})
				awaitReady(t, w.c, o)
				w.awaitMap(t, "settings", test.want)
				kube.Remove(t, w.c, o)
			})
		})
	}
}

// denied is what a policy of deny says.
const denied = "kept for the auditors"

// deny has a server refuse requests that match, unless an expression is true. It returns what makes it so.
func deny(t *testing.T, c client.Client, name, match, unless string) (binding client.Object) {
	t.Helper()
	policy := parse(t, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
		"metadata":{"name":"`+name+`"},"spec":{"matchConstraints":`+match+`,
		"validations":[{"expression":"`+unless+`","message":"`+denied+`"}]}}`)
	binding = parse(t, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding",
		"metadata":{"name":"`+name+`"},"spec":{"policyName":"`+name+`","validationActions":["Deny"]}}`)
	kube.Create(t, c, policy, binding)
	return binding
}

// applyAs applies a manifest to the target as a field manager, and takes what others own.
func applyAs(t *testing.T, tc client.Client, m build.Manifest, manager string) {
	t.Helper()
	u := &unstructured.Unstructured{Object: m}
	if err := tc.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager),
		client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
}

// TestMovesFromLostTarget shows what an Object does that leaves a target which does not answer.
func TestMovesFromLostTarget(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		lost := connectAs(t, w, targetUser(t))
		w.config, lost = lost, w.config
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		old := observed(t, o)

		// To have two targets, the old one gets an address at which nobody listens.
		setKubeconfig(t, w.c, w.namespace, "other", kube.Kubeconfig(t, nowhere(kube.Refused(t))))
		awaitCondition(t, w.c, o, failed(commonv1.ReasonTargetUnreachable))
		kube.Edit(t, w.c, o, func() {
			setConfig(o, lost)
			o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "moved", "color", "blue"))
		})
		awaitCondition(t, w.c, o, failed(commonv1.ReasonTargetUnreachable),
			"cannot replace ConfigMap "+w.target+"/settings", "spec.unreachableTarget: Orphan")
		w.exists(t, w.kept("moved"), false)

		kube.Edit(t, w.c, o, func() { o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan })
		awaitReady(t, w.c, o)
		w.awaitData(t, "moved", "color", "blue")
		w.exists(t, old, true)
		if m := awaitEvent(t, w.c, o, leftResource); !strings.Contains(m, w.target+"/settings") {
			t.Errorf("event: want it to name the resource, got %q", m)
		}
		kube.Remove(t, w.c, o)
	})
}
