package object_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A sickness is bad input whose cause can go away.
type sickness struct {
	make    func(*testing.T, world) build.Object
	want    xpv2.ConditionReason
	message string // part of the condition's message
	heal    func(*testing.T, world, build.Object)
}

// TestBadInputHeals shows that an Object of bad input says what is wrong, harms no neighbour, and recovers.
func TestBadInputHeals(t *testing.T) {
	c := provide(t)
	for name, s := range sicknesses(t) {
		t.Run(name, func(t *testing.T) {
			forScopesBeside(t, func(t *testing.T, scope build.Scope) {
				w := newWorld(t, c, scope)
				neighbour := w.keeper("neighbour")
				createReady(t, c, neighbour)

				o := s.make(t, w)
				kube.Create(t, c, o)
				awaitCondition(t, c, o, failed(s.want), s.message)
				setManifest(t, c, neighbour, build.ConfigMap(w.target, "neighbour", "still", "kept"))
				w.awaitData(t, "neighbour", "still", "kept")

				s.heal(t, w, o)
				awaitReady(t, c, o)
			})
		})
	}
}

func sicknesses(t *testing.T) map[string]sickness {
	t.Helper()
	group := func(w world) string { return w.target + ".example.org" }
	good := func() []byte { return kube.Kubeconfig(t, targetUser(t)) }
	// wants is an Object whose manifest is mended.
	wants := func(m func(w world) build.Manifest, message string) sickness {
		return sickness{
			make: func(_ *testing.T, w world) build.Object { return w.object(m(w)) },
			want: commonv1.ReasonInvalidManifest, message: message,
			heal: func(t *testing.T, w world, o build.Object) {
				setManifest(t, w.c, o, build.ConfigMap(w.target, "settings", "k", "v"))
			},
		}
	}
	// connects is one whose ProviderConfig is bad, and has a Secret that is made good.
	connects := func(why xpv2.ConditionReason, message string, kubeconfig func(t *testing.T) []byte) sickness {
		return sickness{
			make: func(t *testing.T, w world) build.Object {
				w.config = w.namespace + "-bad"
				kube.Create(t, w.c, w.scope.Config(w.namespace, w.config, build.FromSecret(w.namespace, "bad")))
				if kubeconfig != nil {
					kube.Create(t, w.c, build.Credentials(w.namespace, "bad", kubeconfig(t)))
				}
				return w.object(build.ConfigMap(w.target, "waiting"))
			},
			want: why, message: message,
			heal: func(t *testing.T, w world, _ build.Object) {
				if kubeconfig == nil {
					kube.Create(t, w.c, build.Credentials(w.namespace, "bad", good()))
				} else {
					setKubeconfig(t, w.c, w.namespace, "bad", good())
				}
			},
		}
	}
	at := func(address func(testing.TB) string) func(*testing.T) []byte {
		return func(t *testing.T) []byte { return kube.Kubeconfig(t, nowhere(address(t))) }
	}
	text := func(content string) func(*testing.T) []byte {
		return func(*testing.T) []byte { return []byte(content) }
	}
	http := "http://" + strings.TrimPrefix(target.Config().Host, "https://")
	return map[string]sickness{
		"UnknownKind": { // It is found once its CRD is installed.
			make: func(_ *testing.T, w world) build.Object { return w.object(gadget(group(w), w.target)) },
			want: commonv1.ReasonUnknownKind, message: "does not serve kind Gadget",
			heal: func(t *testing.T, w world, _ build.Object) {
				kube.Create(t, w.tc, build.Definition(group(w), "gadgets"))
			},
		},
		"UnreadableKind": wants(func(world) build.Manifest {
			return build.Manifest{
				"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
				"metadata": map[string]any{"name": "may-i"},
				"spec":     map[string]any{"nonResourceAttributes": map[string]any{"path": "/version", "verb": "get"}},
			}
		}, "kind SelfSubjectAccessReview cannot be read"),
		"NamespacedWithoutOne": wants(func(world) build.Manifest {
			return build.Manifest{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "lost"}}
		}, "metadata.namespace is not set, and kind ConfigMap is namespaced"),
		"InvalidBySchema": wants(func(w world) build.Manifest {
			return build.ConfigMap(w.target, "odd", "a key with spaces", "x")
		}, "data[a key with spaces]"),
		"QueryOfReference": {
			make: func(_ *testing.T, w world) build.Object {
				o := w.object(build.ConfigMap(w.target, "waiting"))
				o.Desired().References = []commonv1.Reference{w.on("neighbour")}
				o.Desired().References[0].DependsOn.CelQuery = "object.a ="
				return o
			},
			want: commonv1.ReasonInvalidReference, message: "spec.references[0].dependsOn.celQuery: CEL query is invalid: 1:",
			heal: func(t *testing.T, w world, o build.Object) {
				ref := w.on("neighbour")
				ref.DependsOn.CelQuery = "true"
				setReferences(t, w.c, o, ref)
			},
		},
		"IgnoredPath": {
			make: func(_ *testing.T, w world) build.Object {
				return ignore(w.object(build.ConfigMap(w.target, "odd")), "data.color", "data..color")
			},
			want: commonv1.ReasonInvalidManifest, message: "cannot parse spec.forProvider.ignoreFields[1].fieldPath",
			heal: func(t *testing.T, w world, o build.Object) {
				t.Helper()
				kube.Edit(t, w.c, o, func() { ignore(o, "data.color") })
			},
		},
		"MissingNamespace": {
			make: func(_ *testing.T, w world) build.Object { return w.object(build.ConfigMap(w.target+"-later", "early")) },
			want: commonv1.ReasonNamespaceMissing, message: `-later" not found`,
			heal: func(t *testing.T, w world, _ build.Object) {
				kube.Create(t, w.tc, &corev1.Namespace{ObjectMeta: build.Meta("", w.target+"-later")})
			},
		},
		"Forbidden": {
			make: func(t *testing.T, w world) build.Object {
				w.config = connectAs(t, w, target.User(t, w.target))
				return w.object(build.ConfigMap(w.target, "secretive"))
			},
			want: commonv1.ReasonForbidden, message: "configmaps",
			heal: func(t *testing.T, w world, _ build.Object) { rights(t, w.tc, w.target, "*") },
		},
		"MissingProviderConfig": {
			make: func(_ *testing.T, w world) build.Object {
				w.config = w.namespace + "-later"
				return w.object(build.ConfigMap(w.target, "waiting"))
			},
			want: commonv1.ReasonInvalidConnection, message: "-later",
			heal: func(t *testing.T, w world, _ build.Object) {
				kube.Create(t, w.c, w.scope.Config(w.namespace, w.namespace+"-later",
					build.FromSecret(w.namespace, "credentials")))
			},
		},
		"MissingSecret":     connects(commonv1.ReasonInvalidConnection, "/bad does not exist", nil),
		"GarbageKubeconfig": connects(commonv1.ReasonInvalidConnection, "cannot parse kubeconfig", text("{{{ not: yaml")),
		"EmptyKubeconfig":   connects(commonv1.ReasonInvalidConnection, "kubeconfig is empty", text("")),
		"KubeconfigNamesNothing": connects(commonv1.ReasonInvalidConnection, `no context "x"`,
			text("apiVersion: v1\nkind: Config\ncurrent-context: x\n")),
		"PlainHTTP": connects(commonv1.ReasonTargetUnreachable, "write https://",
			func(t *testing.T) []byte { return kube.Kubeconfig(t, &rest.Config{Host: http}) }),
		"TargetRefuses":  connects(commonv1.ReasonTargetUnreachable, "", at(kube.Refused)),
		"TargetIsSilent": connects(commonv1.ReasonTargetUnreachable, "", at(kube.BlackHole)),
	}
}

// setManifest changes the manifest of an Object.
func setManifest(t *testing.T, c client.Client, o build.Object, m build.Manifest) {
	t.Helper()
	kube.Edit(t, c, o, func() { o.Desired().ForProvider.Manifest = build.Raw(m) })
}

// gadget returns the manifest of a Gadget.
func gadget(group, namespace string) build.Manifest {
	return nameOf(group+"/v1", "Gadget", namespace, "gadget")
}

// nameOf returns a manifest that only names a resource.
func nameOf(apiVersion, kind, namespace, name string) build.Manifest {
	return build.Manifest{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace},
	}
}

// setKubeconfig replaces the content of a credentials Secret.
func setKubeconfig(t *testing.T, c client.Client, namespace, name string, kubeconfig []byte) {
	t.Helper()
	kube.Update(t, c, build.Credentials(namespace, name, kubeconfig))
}

// TestCredentialsRotate shows that a new user in the Secret is used at once, by the watch too, and the old connection
// closed. A defect of provider-kubernetes: its watch keeps the credentials it has begun with.
func TestCredentialsRotate(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		o := w.keep(t, build.ConfigMap(w.target, "settings", "a", "1"))

		renewed := w.user + "-new"
		setKubeconfig(t, c, w.namespace, "credentials", kube.Kubeconfig(t, target.User(t, renewed, "system:masters")))
		audit := target.Audit(t)
		kube.Eventually(t, "a watch by the new user", func() (bool, string) {
			return len(audit.Watches(kube.Mark{}).By(renewed)) > 0, "none"
		})
		mark := audit.Mark()
		setManifest(t, c, o, build.ConfigMap(w.target, "settings", "a", "2"))
		w.awaitData(t, "settings", "a", "2")
		w.checkAsked(t, mark, nil)
		w.user = renewed
		w.checkAsked(t, mark, map[string]int{"patch configmaps": 1})
	})
}
