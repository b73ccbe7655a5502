package object_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A loss is how a target can be lost.
type loss struct {
	lose func(*testing.T, world, build.Object)
	want xpv2.ConditionReason
}

func losses() map[string]loss {
	return map[string]loss{
		"TargetRefuses": {
			lose: func(t *testing.T, w world, _ build.Object) {
				setKubeconfig(t, w.c, w.namespace, "credentials", kube.Kubeconfig(t, nowhere(kube.Refused(t))))
			},
			want: commonv1.ReasonTargetUnreachable,
		},
		"TargetIsSilent": {
			lose: func(t *testing.T, w world, _ build.Object) {
				setKubeconfig(t, w.c, w.namespace, "credentials", kube.Kubeconfig(t, nowhere(kube.BlackHole(t))))
			},
			want: commonv1.ReasonTargetUnreachable,
		},
		"SecretDeleted": {
			lose: func(t *testing.T, w world, _ build.Object) {
				kube.Delete(t, w.c, &corev1.Secret{ObjectMeta: build.Meta(w.namespace, "credentials")})
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
					patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
					err := w.c.Patch(t.Context(), config, patch)
					return apierrors.IsNotFound(err), message(err)
				})
				unpause(t, w.c, o)
			},
			want: commonv1.ReasonInvalidConnection,
		},
		"CredentialsRefused": {
			lose: func(t *testing.T, w world, _ build.Object) {
				cfg := nowhere("")
				direct := target.Config()
				cfg.Host, cfg.CAData, cfg.BearerToken = direct.Host, direct.CAData, "revoked"
				setKubeconfig(t, w.c, w.namespace, "credentials", kube.Kubeconfig(t, cfg))
			},
			want: commonv1.ReasonUnauthorized,
		},
	}
}

// TestUnreachableTarget shows for each way to lose a target that a deleted Object waits for it, says so and how it can
// be let go, and goes at once when it is.
//
// Objects of provider-kubernetes stay for as long as the target cannot be reached (its #38 and #20).
func TestUnreachableTarget(t *testing.T) {
	t.Parallel()
	c := provide(t)
	for name, l := range losses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for policy, p := range map[string]xpv2.ManagementPolicies{"Full": nil, "Partial": observeUpdate} {
				t.Run(policy, func(t *testing.T) {
					forScopesBeside(t, func(t *testing.T, s build.Scope) {
						kube.Figure(t, "from the permission to leave the resource to the end",
							func() time.Duration {
								w := newWorld(t, c, s)
								o := w.object(build.ConfigMap(w.target, "settings", "ours", "yes"))
								if p != nil {
									kube.Create(t, w.tc, emptySettings(w.target))
									o.SetManagementPolicies(p)
								}
								kube.Create(t, c, o)
								awaitReady(t, c, o)
								l.lose(t, w, o)
								kube.Delete(t, c, o)
								awaitCondition(t, c, o, failed(l.want), "spec.unreachableTarget: Orphan")
								staysUnwritten(t, c, o)

								began := time.Now()
								edit(t, c, o, func() { o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan })
								kube.AwaitGone(t, c, o)
								took := time.Since(began)
								awaitEvent(t, c, o, leftResource)
								key := types.NamespacedName{Namespace: w.target, Name: "settings"}
								awaitData(t, w.tc, key, map[string]string{"ours": "yes"})
								return took
							})
					})
				})
			}
		})
	}
}

// TestUnreachableTargetOfNoConcern shows that an Object which leaves its resource goes without asking the target.
func TestUnreachableTargetOfNoConcern(t *testing.T) {
	t.Parallel()
	c := provide(t)
	for name, p := range map[string]xpv2.ManagementPolicies{"NeverDelete": neverDelete, "Observe": observeOnly} {
		t.Run(name, func(t *testing.T) {
			forScopesBeside(t, func(t *testing.T, s build.Scope) {
				kube.Figure(t, "from the deletion to the end", func() time.Duration {
					w := newWorld(t, c, s)
					kube.Create(t, w.tc, emptySettings(w.target))
					o := w.object(build.ConfigMap(w.target, "settings"))
					o.SetManagementPolicies(p)
					kube.Create(t, c, o)
					awaitReady(t, c, o)
					setKubeconfig(t, c, w.namespace, "credentials", kube.Kubeconfig(t, nowhere(kube.BlackHole(t))))
					awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable))
					began := time.Now()
					kube.Remove(t, c, o)
					return time.Since(began)
				})
			})
		})
	}
}

// TestOrphanDeletesWhatItCan shows that unreachableTarget: Orphan does not keep a resource from being deleted whose
// target answers.
func TestOrphanDeletesWhatItCan(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.object(build.ConfigMap(w.target, "settings"))
		o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan
		kube.Create(t, w.c, o)
		awaitReady(t, w.c, o)
		kube.Remove(t, w.c, o)
		w.exists(t, emptySettings(w.target), false)
	})
}

// TestDeletionWaitsForTarget shows that a resource is deleted when its target is back.
func TestDeletionWaitsForTarget(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		target.Stop(t)
		kube.Delete(t, w.c, o)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonTargetUnreachable))
		target.Restart(t)
		kube.AwaitGone(t, w.c, o)
		w.exists(t, emptySettings(w.target), false)
	})
}
