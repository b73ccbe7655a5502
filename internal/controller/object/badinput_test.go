package object_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A sickness is bad input whose cause can go away.
type sickness struct {
	reason  string
	make    func(*testing.T, world) build.Object
	want    xpv2.ConditionReason
	message string // part of the condition's message
	heal    func(*testing.T, world, build.Object)
}

func TestBadInputHeals(t *testing.T) {
	c := provide(t)
	http := "http://" + strings.TrimPrefix(target.Config().Host, "https://")
	plain := kubeconfigThat("says http:// of a server with TLS", kube.Kubeconfig(t, &rest.Config{Host: http}),
		"begins with https://")
	plain.want = commonv1.ReasonTargetUnreachable
	for name, s := range map[string]sickness{
		"UnknownKind":           unknownKind(),
		"UnreadableKind":        unreadableKind(),
		"NamespacedWithoutOne":  withoutNamespace(),
		"MissingNamespace":      missingNamespace(),
		"Forbidden":             forbidden(),
		"InvalidBySchema":       invalidBySchema(),
		"MissingProviderConfig": missingProviderConfig(),
		"MissingSecret":         missingSecret(),
		"TargetRefuses":         unreachable("does not listen", kube.Refused),
		"GarbageKubeconfig":     kubeconfigThat("is garbage", []byte("{{{ not: yaml"), "cannot parse kubeconfig"),
		"EmptyKubeconfig":       kubeconfigThat("is empty", nil, "kubeconfig is empty"),
		"KubeconfigNamesNothing": kubeconfigThat("names no context",
			[]byte("apiVersion: v1\nkind: Config\ncurrent-context: x\n"), `no context "x"`),
		"PlainHTTP": plain,
	} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(t *testing.T, scope build.Scope) { s.run(t, newWorld(t, c, scope)) })
		})
	}
}

// run shows that an Object falls sick, says so, harms no neighbour and recovers.
func (s sickness) run(t *testing.T, w world) {
	t.Helper()
	neighbour := w.keeper("neighbour")
	createReady(t, w.c, neighbour)

	o := s.make(t, w)
	kube.Create(t, w.c, o)
	awaitCondition(t, w.c, o, failed(s.want), s.message)
	setManifest(t, w.c, neighbour, build.ConfigMap(w.target, "neighbour", "still", "kept"))
	w.awaitData(t, "neighbour", "still", "kept")

	s.heal(t, w, o)
	awaitReady(t, w.c, o)
	if t.Failed() {
		t.Log(s.reason)
	}
}

// setManifest changes the manifest of an Object.
func setManifest(t *testing.T, c client.Client, o build.Object, m build.Manifest) {
	t.Helper()
	edit(t, c, o, func() { o.Desired().ForProvider.Manifest = build.Raw(m) })
}

func unreadableKind() sickness {
	return sickness{
		reason: "A kind that can only be created cannot be kept.",
		make: func(_ *testing.T, w world) build.Object {
			return w.object(build.Manifest{
				"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
				"metadata": map[string]any{"name": "may-i"},
				"spec":     map[string]any{"nonResourceAttributes": map[string]any{"path": "/version", "verb": "get"}},
			})
		},
		want: commonv1.ReasonInvalidManifest, message: "kind SelfSubjectAccessReview can only be created",
		heal: func(t *testing.T, w world, o build.Object) {
			setManifest(t, w.c, o, build.ConfigMap(w.target, "settings"))
		},
	}
}

func unknownKind() sickness {
	group := func(w world) string { return w.target + ".example.org" }
	return sickness{
		reason: "A kind that the target does not serve is named, and found once its CRD is installed.",
		make:   func(_ *testing.T, w world) build.Object { return w.object(gadget(group(w), w.target)) },
		want:   commonv1.ReasonUnknownKind, message: "does not serve kind Gadget",
		heal: func(t *testing.T, w world, _ build.Object) { kube.Create(t, w.tc, gadgets(group(w))) },
	}
}

// gadgets returns a CRD of a namespaced kind Gadget.
func gadgets(group string) *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &preserve,
				}},
			}},
		},
	}
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

func withoutNamespace() sickness {
	return sickness{
		reason: "A namespaced kind needs a namespace, which has no default.",
		make: func(_ *testing.T, w world) build.Object {
			m := build.ConfigMap("", "lost")
			delete(m["metadata"].(map[string]any), "namespace")
			return w.object(m)
		},
		want:    commonv1.ReasonInvalidManifest,
		message: "metadata.namespace is not set, and kind ConfigMap is namespaced",
		heal: func(t *testing.T, w world, o build.Object) {
			setManifest(t, w.c, o, build.ConfigMap(w.target, "lost"))
		},
	}
}

func missingNamespace() sickness {
	return sickness{
		reason: "A namespace that does not exist is named, and used once it exists.",
		make:   func(_ *testing.T, w world) build.Object { return w.object(build.ConfigMap(w.target+"-later", "early")) },
		want:   commonv1.ReasonNamespaceMissing, message: `-later" not found`,
		heal: func(t *testing.T, w world, _ build.Object) {
			kube.Create(t, w.tc, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.target + "-later"}})
		},
	}
}

func forbidden() sickness {
	return sickness{
		reason: "What the target denies is said, and done once it is allowed.",
		make: func(t *testing.T, w world) build.Object {
			w.config = connectAs(t, w, target.User(t, w.target))
			return w.object(build.ConfigMap(w.target, "secretive"))
		},
		want: commonv1.ReasonForbidden, message: "configmaps",
		heal: func(t *testing.T, w world, _ build.Object) { rights(t, w.tc, w.target, "*") },
	}
}

func invalidBySchema() sickness {
	return sickness{
		reason: "What the server finds invalid is said, with the field.",
		make: func(_ *testing.T, w world) build.Object {
			m := build.ConfigMap(w.target, "odd")
			m["data"] = map[string]any{"a key with spaces": "x"}
			return w.object(m)
		},
		want: commonv1.ReasonInvalidManifest, message: "data[a key with spaces]",
		heal: func(t *testing.T, w world, o build.Object) {
			setManifest(t, w.c, o, build.ConfigMap(w.target, "odd", "k", "v"))
		},
	}
}

func missingProviderConfig() sickness {
	return sickness{
		reason: "A ProviderConfig that does not exist is named, and used once it exists.",
		make: func(_ *testing.T, w world) build.Object {
			w.config = w.namespace + "-later"
			return w.object(build.ConfigMap(w.target, "waiting"))
		},
		want: commonv1.ReasonInvalidConnection, message: "-later",
		heal: func(t *testing.T, w world, _ build.Object) {
			kube.Create(t, w.c, w.scope.Config(w.namespace, w.namespace+"-later",
				build.FromSecret(w.namespace, "credentials")))
		},
	}
}

func missingSecret() sickness {
	return sickness{
		reason: "A Secret that does not exist is named, and used once it exists.",
		make: func(t *testing.T, w world) build.Object {
			w.config = w.namespace + "-bare"
			kube.Create(t, w.c, w.scope.Config(w.namespace, w.config, build.FromSecret(w.namespace, "later")))
			return w.object(build.ConfigMap(w.target, "waiting"))
		},
		want: commonv1.ReasonInvalidConnection, message: "/later does not exist",
		heal: func(t *testing.T, w world, _ build.Object) {
			kube.Create(t, w.c, build.Credentials(w.namespace, "later", kube.Kubeconfig(t, targetUser(t))))
		},
	}
}

// kubeconfigThat is a Secret with an unusable kubeconfig, which is then replaced by a good one.
func kubeconfigThat(does string, content []byte, message string) sickness {
	return sickness{
		reason: "A kubeconfig that " + does + " is refused without being repeated, and its successor used.",
		make: func(t *testing.T, w world) build.Object {
			w.config = w.namespace + "-bad"
			kube.Create(t, w.c, build.Credentials(w.namespace, "bad", content),
				w.scope.Config(w.namespace, w.config, build.FromSecret(w.namespace, "bad")))
			return w.object(build.ConfigMap(w.target, "waiting"))
		},
		want: commonv1.ReasonInvalidConnection, message: message,
		heal: func(t *testing.T, w world, _ build.Object) {
			setKubeconfig(t, w.c, w.namespace, "bad", kube.Kubeconfig(t, targetUser(t)))
		},
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
