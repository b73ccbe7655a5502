package object_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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
					"Waiting until ConfigMap "+w.target+"/settings, which it replaces, is gone; finalizers: "+theirFinalizer)
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

// TestDeletionDuringReplacement shows that an Object which is deleted while its old resource is on its way out waits
// for that one, and makes no other.
func TestDeletionDuringReplacement(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		old := observed(t, o)
		release := hold(t, w.tc, old)
		setManifest(t, w.c, o, build.ConfigMap(w.target, "renamed"))
		awaitCondition(t, w.c, o, replacing)
		kube.Delete(t, w.c, o)
		staysThere(t, w.c, o, o)
		release()
		kube.AwaitGone(t, w.c, o)
		w.exists(t, old, false)
		w.exists(t, w.kept("renamed"), false)
	})
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

// TestOtherGroupOfSameResource shows that a resource which a target serves in two groups is not made again when the
// manifest names the other one.
func TestOtherGroupOfSameResource(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		in := func(version string) build.Manifest {
			m := nameOf(version, "Event", w.target, "news")
			m["reason"] = "Told"
			return m
		}
		core := in("v1")
		core["involvedObject"] = map[string]any{"namespace": w.target}
		o := w.keep(t, core)
		made := observed(t, o).GetUID()

		other := in("events.k8s.io/v1")
		other["regarding"] = map[string]any{"namespace": w.target}
		setManifest(t, w.c, o, other)
		kube.Await(t, w.c, o, "the Object to see its resource in the other group", func() (bool, string) {
			got := observed(t, o).APIVersion
			return got == "events.k8s.io/v1", got
		})
		awaitReady(t, w.c, o)
		if got := observed(t, o).GetUID(); got != made {
			t.Errorf("want the same resource %s, got another one %s", made, got)
		}
		kube.Remove(t, w.c, o)
	})
}

// TestRenamedAgainAndAgain shows that of many names in a row only the last is left, however the changes fall between
// what the provider does: a status it could not write because the Object had just changed is not lost.
func TestRenamedAgainAndAgain(t *testing.T) {
	const names = 40
	forWorlds(t, func(t *testing.T, w world) {
		o := w.object(build.ConfigMap(w.target, "name-0"))
		kube.Create(t, w.c, o)
		for i := range names {
			setManifest(t, w.c, o, build.ConfigMap(w.target, fmt.Sprintf("name-%d", i)))
			if i%3 == 0 { // Some are given the time to be made.
				w.awaitData(t, fmt.Sprintf("name-%d", i))
			}
		}
		last := fmt.Sprintf("name-%d", names-1)
		w.awaitData(t, last)
		awaitReady(t, w.c, o)
		left := &corev1.ConfigMapList{}
		kube.List(t, w.tc, left, client.InNamespace(w.target), client.HasLabels{commonv1.LabelKeyManaged})
		if len(left.Items) != 1 {
			t.Errorf("want only %s to be left, found %v", last, left.Items)
		}
		kube.Remove(t, w.c, o)
	})
}

// TestInterruptedReplacement shows that a provider which stops at any point of a replacement goes on where it was. What
// it had done by then is done by the test, while the Object is paused: the old resource is deleted, the new one is
// made, too, and that not recorded, or others have made another one of the old name, which is theirs.
func TestInterruptedReplacement(t *testing.T) {
	for name, done := range map[string]func(*testing.T, world, build.Object){
		"OldIsGone": func(*testing.T, world, build.Object) {},
		"NewIsMade": func(t *testing.T, w world, o build.Object) {
			applyAs(t, w.tc, build.ConfigMap(w.target, "renamed", "color", "blue"), "provider-kubernetes/"+o.GetName())
		},
		"OldIsRemade": func(t *testing.T, w world, _ build.Object) { kube.Create(t, w.tc, emptySettings(w.target)) },
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
				pause(t, w.c, o)
				setManifest(t, w.c, o, build.ConfigMap(w.target, "renamed", "color", "blue"))
				kube.Delete(t, w.tc, emptySettings(w.target))
				done(t, w, o)
				unpause(t, w.c, o)
				w.awaitData(t, "renamed", "color", "blue")
				awaitReady(t, w.c, o)
				w.exists(t, emptySettings(w.target), name == "OldIsRemade")
				kube.Remove(t, w.c, o)
				w.exists(t, w.kept("renamed"), false)
			})
		})
	}
}

// TestUnrecordedReplacement shows that an Object leaves nothing that is deleted after it has made its new resource, and
// before that could be recorded, as when the provider is killed: here the control plane refuses the record. The other
// target is the control plane.
func TestUnrecordedReplacement(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		there := w.beyond(t)
		other := connectAs(t, w, local.User(t, user, "system:masters"))
		for name, test := range map[string]struct {
			first    string // the name of the old resource
			change   func(build.Object)
			in       world    // where the new one is
			recorded []string // where a record of the new one differs, and by what
		}{
			"renamed": {
				first: "first", in: w, recorded: []string{"manifest", "metadata", "name", "renamed"},
				change: func(o build.Object) {
					o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "renamed"))
				},
			},
			"moved": {
				first: "moved", in: there, recorded: []string{"providerConfigRef", "name", other},
				change: func(o build.Object) { setConfig(o, other) },
			},
		} {
			t.Run(name, func(t *testing.T) {
				o := w.scope.Object(w.namespace, w.target+"-"+name, w.config, build.ConfigMap(w.target, test.first))
				createReady(t, w.c, o)
				refuseRecord(t, w, o, test.recorded)
				kube.Edit(t, w.c, o, func() { test.change(o) })
				made := w.kept(name)
				kube.Await(t, test.in.tc, made, "the new resource", func() (bool, string) { return true, "" })
				kube.Remove(t, w.c, o)
				test.in.exists(t, made, false)
			})
		}
	})
}

// refuseRecord has the control plane refuse a status of an Object in which a field of status.atProvider has a value.
func refuseRecord(t *testing.T, w world, o build.Object, recorded []string) {
	t.Helper()
	path, value := recorded[:len(recorded)-1], recorded[len(recorded)-1]
	record, at := map[string]any{}, slices.Concat([]string{"status", "atProvider"}, path)
	if err := unstructured.SetNestedField(record, value, at...); err != nil {
		t.Fatal(err)
	}
	const in = "object.status.atProvider."
	deny(t, w.c, o.GetName(), `{"resourceRules":[{"apiGroups":["`+w.scope.Resource.Group+`"],"apiVersions":["*"],
		"operations":["UPDATE"],"resources":["objects/status"],"resourceNames":["`+o.GetName()+`"]}]}`,
		"!has("+in+"providerConfigRef) || "+in+strings.Join(path, ".")+" != '"+value+"'")
	patch := client.RawPatch(types.MergePatchType, build.Raw(record).Raw)
	kube.Eventually(t, "the policy", func() (bool, string) {
		err := w.c.Status().Patch(t.Context(), o.DeepCopyObject().(client.Object), patch, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), denied), message(err)
	})
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

// beyond returns a world whose target is the control plane, which has a namespace of the name, too.
func (w world) beyond(t *testing.T) world {
	t.Helper()
	w.tc = w.c
	kube.Create(t, w.tc, &corev1.Namespace{ObjectMeta: build.Meta("", w.target)})
	return w
}

// TestMovesToOtherTarget shows that an Object which refers to another ProviderConfig leaves nothing on the target it
// leaves, and makes its resource on the other one after that. The other target is the control plane.
func TestMovesToOtherTarget(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		there := w.beyond(t)
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		old := observed(t, o)
		release := hold(t, w.tc, old)

		other := connectAs(t, w, local.User(t, user, "system:masters"))
		kube.Edit(t, w.c, o, func() { setConfig(o, other) })
		awaitCondition(t, w.c, o, replacing)
		there.exists(t, emptySettings(w.target), false) // It must not be made before the old one is gone.
		// Until then the old ProviderConfig is in use.
		config := w.scope.Config(w.namespace, w.config, build.FromSecret(w.namespace, "credentials"))
		kube.Delete(t, w.c, config)
		staysThere(t, w.c, config, o)
		release()
		awaitReady(t, w.c, o)
		there.awaitData(t, "settings", "color", "blue")
		w.exists(t, old, false)
		kube.AwaitGone(t, w.c, config)
		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, there.tc, old)
	})
}

// TestMovesAndIsDeleted shows that an Object which is deleted before it has moved is deleted where it was.
func TestMovesAndIsDeleted(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		kube.Edit(t, w.c, o, func() { setConfig(o, "nothing-of-this-name") })
		awaitCondition(t, w.c, o, failed(commonv1.ReasonInvalidConnection))
		w.exists(t, emptySettings(w.target), true)
		kube.Remove(t, w.c, o)
		w.exists(t, emptySettings(w.target), false)
	})
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

// TestRetargetedObject shows that an Object whose ProviderConfig comes to mean other credentials is not taken for
// settled by what it has applied before, but by what the resource holds.
func TestRetargetedObject(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		there := w.beyond(t)
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		w.awaitData(t, "settings", "color", "blue")

		setKubeconfig(t, w.c, w.namespace, "credentials", kube.Kubeconfig(t, local.User(t, user, "system:masters")))
		there.awaitData(t, "settings", "color", "blue")
		awaitReady(t, w.c, o)
	})
}
