package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestDeletedAtOnce shows that the resource goes too when an Object is deleted together with its ProviderConfig and
// Secret.
func TestDeletedAtOnce(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		release := hold(t, w.tc, emptySettings(w.target))
		config := w.scope.Config(w.namespace, w.config, build.FromSecret(w.namespace, "credentials"))
		kube.Delete(t, w.c, build.Credentials(w.namespace, "credentials", nil), config, o)
		release()
		kube.AwaitGone(t, w.c, o)
		w.exists(t, emptySettings(w.target), false)
	})
}

// TestAdopted shows that a resource which others have made belongs to the Object that applies it, and goes with it.
func TestAdopted(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		theirs := &corev1.ConfigMap{
			ObjectMeta: build.Meta(w.target, "settings"), Data: map[string]string{"theirs": "yes"},
		}
		kube.Create(t, w.tc, theirs)
		o := w.keep(t, build.ConfigMap(w.target, "settings", "ours", "yes"))
		if got := observed(t, o).GetUID(); got != theirs.GetUID() {
			t.Errorf("want the resource to be adopted as %s, got %s", theirs.GetUID(), got)
		}
		kube.Remove(t, w.c, o)
		w.exists(t, theirs, false)
	})
}

// TestKindIsGone shows that an Object goes whose kind the target does not serve any more, as no resource of it can be
// left. provider-kubernetes fails on a kind it does not find, for ever.
func TestKindIsGone(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		group := w.target + ".example.org"
		crd := build.Definition(group, "gadgets")
		kube.Create(t, w.tc, crd)
		o := w.keep(t, gadget(group, w.target))
		kube.Remove(t, w.tc, crd)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonUnknownKind))
		kube.Remove(t, w.c, o)
	})
}

// TestWritesAreExact shows that the requests of Objects which may only create, or only change, cannot do the other,
// whatever happens between a look and a write.
//
// provider-kubernetes creates what is missing though it may only change.
func TestWritesAreExact(t *testing.T) {
	tc := target.Client(t)
	d, err := dynamic.NewForConfig(target.Config())
	if err != nil {
		t.Fatal(err)
	}
	tns := target.Namespace(t)
	c := apply.Client{
		Resources: d.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(tns),
		Manager:   "test",
	}
	wanted := &unstructured.Unstructured{Object: build.ConfigMap(tns, "settings", "color", "blue")}
	const gone types.UID = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

	if _, err := c.Update(t.Context(), wanted, gone); !apierrors.IsConflict(err) {
		t.Errorf("update of what does not exist: want a conflict, got %s", message(err))
	}
	cm := emptySettings(tns)
	if err := tc.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); !apierrors.IsNotFound(err) {
		t.Errorf("update of what does not exist must not create it: %s", message(err))
	}
	kube.Create(t, tc, emptySettings(tns))
	if _, err := c.Update(t.Context(), wanted, gone); err == nil {
		t.Error("update of a namesake: want an error")
	}
	if _, err := c.Create(t.Context(), wanted); !apierrors.IsAlreadyExists(err) {
		t.Errorf("creation of what exists: want it to be refused, got %s", message(err))
	}
	if err := tc.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil || len(cm.Data) > 0 {
		t.Errorf("want the resource of others as it was, got %v, %s", cm.Data, message(err))
	}

	// What was applied can be taken back, and leaves no trace.
	before := cm.DeepCopy()
	live, err := c.Update(t.Context(), wanted, cm.GetUID())
	if err != nil {
		t.Fatal(err)
	}
	if !apply.Manages(live, "test") {
		t.Error("want the manager to own what it has applied")
	}
	if _, err := c.Withdraw(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	live, err = c.Resources.Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := live.Object["data"]; ok || apply.Manages(live, "test") || live.GetUID() != before.GetUID() {
		t.Errorf("want the resource as it was, got %v", live.Object)
	}
}

// A loss is how a target can be lost.
type loss struct {
	lose func(*testing.T, world, build.Object)
	want xpv2.ConditionReason
}

func losses() map[string]loss {
	// A deletion that is worked on before the new credentials are seen would still reach the target.
	leads := func(why xpv2.ConditionReason, to func(*testing.T) *rest.Config) loss {
		return loss{want: why, lose: func(t *testing.T, w world, _ build.Object) {
			setKubeconfig(t, w.c, w.namespace, "credentials", kube.Kubeconfig(t, to(t)))
			readConfig(t, w.c, w.scope, w.namespace, w.config).await(t, corev1.ConditionFalse, why)
		}}
	}
	return map[string]loss{
		"TargetRefuses": leads(commonv1.ReasonTargetUnreachable,
			func(t *testing.T) *rest.Config { return nowhere(kube.Refused(t)) }),
		"TargetIsSilent": leads(commonv1.ReasonTargetUnreachable,
			func(t *testing.T) *rest.Config { return nowhere(kube.BlackHole(t)) }),
		"SecretDeleted": {
			lose: func(t *testing.T, w world, _ build.Object) {
				kube.Delete(t, w.c, build.Credentials(w.namespace, "credentials", nil))
			},
			want: commonv1.ReasonInvalidConnection,
		},
		"SecretIsGarbage": {
			lose: func(t *testing.T, w world, _ build.Object) {
				setKubeconfig(t, w.c, w.namespace, "credentials", []byte("{{{ not: yaml"))
			},
			want: commonv1.ReasonInvalidConnection,
		},
		"ProviderConfigGone": {
			lose: func(t *testing.T, w world, o build.Object) {
				// As when somebody takes its finalizer away, while the provider cannot put it back.
				pause(t, w.c, o)
				config := w.scope.Config(w.namespace, w.config, build.FromSecret(w.namespace, "credentials"))
				kube.Delete(t, w.c, config)
				kube.Eventually(t, "the ProviderConfig to be gone", func() (bool, string) {
					unpin(t, w.c, config)
					err := w.c.Get(t.Context(), client.ObjectKeyFromObject(config), config)
					return apierrors.IsNotFound(err), message(err)
				})
				unpause(t, w.c, o)
			},
			want: commonv1.ReasonInvalidConnection,
		},
		"CredentialsRefused": leads(commonv1.ReasonUnauthorized, func(*testing.T) *rest.Config {
			cfg := rest.AnonymousClientConfig(target.Config())
			cfg.BearerToken = "revoked"
			return cfg
		}),
	}
}

// TestUnreachableTarget shows for each way to lose a target that a deleted Object waits for it, says so and how it can
// be let go, and goes when it is.
//
// Objects of provider-kubernetes stay for as long as the target cannot be reached (its #38 and #20).
func TestUnreachableTarget(t *testing.T) {
	t.Parallel()
	for name, l := range losses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for policy, p := range map[string]xpv2.ManagementPolicies{"Full": nil, "Partial": observeUpdate} {
				t.Run(policy, func(t *testing.T) {
					forWorldsBeside(t, func(t *testing.T, w world) {
						o := w.object(build.ConfigMap(w.target, "settings", "ours", "yes"))
						if p != nil {
							kube.Create(t, w.tc, emptySettings(w.target))
							o.SetManagementPolicies(p)
						}
						createReady(t, w.c, o)
						l.lose(t, w, o)
						kube.Delete(t, w.c, o)
						awaitCondition(t, w.c, o, failed(l.want), "spec.unreachableTarget: Orphan")
						staysUnwritten(t, w.c, o)

						kube.Edit(t, w.c, o, func() { o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan })
						kube.AwaitGone(t, w.c, o)
						awaitEvent(t, w.c, o, leftResource)
						w.awaitData(t, "settings", "ours", "yes")
					})
				})
			}
		})
	}
}

// grower returns a keeper and an Object that refers to it, and that only looks at and deletes a ConfigMap. Both are
// ready, and the first is pinned.
func grower(t *testing.T, w world) (maker, made build.Object) {
	t.Helper()
	maker, made = w.keeper("maker"), w.keeper("made", w.on("maker"))
	made.SetManagementPolicies(observeDelete)
	kube.Create(t, w.tc, w.kept("made"))
	createReady(t, w.c, maker, made)
	awaitPinned(t, w.c, made, maker, true)
	return maker, made
}

// TestMadeAgain shows that what others make and an Object deletes is deleted again and again, until what the Object
// refers to is gone: that may be what makes it, as a Subscription of OLM does. While it waits, it writes nothing.
func TestMadeAgain(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, w world, made build.Object, goes func()){
		// The Object waits to be told, and goes at once.
		"Told": func(_ *testing.T, _ world, _ build.Object, goes func()) { goes() },
		// What was made before the other Object had gone is looked for once more.
		"MadeAtLast": func(t *testing.T, w world, made build.Object, goes func()) {
			pause(t, w.c, made)
			kube.Create(t, w.tc, w.kept("made"))
			goes()
			unpause(t, w.c, made)
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				maker, made := grower(t, w)
				release := hold(t, w.tc, w.kept("maker"))
				kube.Delete(t, w.c, maker)
				kube.Delete(t, w.c, made)
				awaitPinned(t, w.c, made, maker, false)
				for range 3 {
					kube.AwaitGone(t, w.tc, w.kept("made"))
					kube.Create(t, w.tc, w.kept("made"))
				}
				kube.AwaitGone(t, w.tc, w.kept("made"))
				awaitCondition(t, w.c, made, failed(commonv1.ReasonWaitingForReference), maker.GetName())
				staysUnwritten(t, w.c, made)
				end(t, w, made, func() {
					release()
					kube.AwaitGone(t, w.c, maker)
				})
				kube.AwaitGone(t, w.c, made)
				w.exists(t, w.kept("made"), false)
			})
		})
	}
}
