package object_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

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
	c, tc := provide(t), target.Client(t)
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
		"KubeconfigRunsProgram": kubeconfigThat("runs a program", execKubeconfig(),
			"users[].user.exec is not allowed"),
	} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(t *testing.T, scope build.Scope) {
				kube.Figure(t, s.reason+"\nrecovery", func() time.Duration { return s.run(t, c, tc, scope) })
			})
		})
	}
}

// run shows that an Object falls sick, says so, harms no neighbour and recovers, and returns how long it took to
// recover.
func (s sickness) run(t *testing.T, c, tc client.Client, scope build.Scope) time.Duration {
	t.Helper()
	ns, pc := connect(t, c, scope, targetUser(t))
	w := world{c: c, tc: tc, scope: scope, namespace: ns, config: pc, target: target.Namespace(t)}
	neighbour := scope.Object(ns, w.target+"-neighbour", pc, build.ConfigMap(w.target, "neighbour"))
	createReady(t, c, neighbour)

	o := s.make(t, w)
	kube.Create(t, c, o)
	awaitCondition(t, c, o, failed(s.want), s.message)
	checkNeighbour(t, w, neighbour)

	s.heal(t, w, o)
	healed := time.Now()
	awaitReady(t, c, o)
	return time.Since(healed)
}

// checkNeighbour checks that another Object is still kept.
func checkNeighbour(t *testing.T, w world, o build.Object) {
	t.Helper()
	key := types.NamespacedName{Namespace: w.target, Name: "neighbour"}
	setManifest(t, w.c, o, build.ConfigMap(w.target, "neighbour", "still", "kept"))
	awaitData(t, w.tc, key, map[string]string{"still": "kept"})
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
		make: func(_ *testing.T, w world) build.Object {
			return w.object(build.Manifest{
				"apiVersion": group(w) + "/v1", "kind": "Gadget",
				"metadata": map[string]any{"name": "gadget", "namespace": w.target},
			})
		},
		want: commonv1.ReasonUnknownKind, message: "does not serve kind Gadget",
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
		heal: func(t *testing.T, w world,
			o build.Object,
		) {
			setManifest(t, w.c, o, build.ConfigMap(w.target, "lost"))
		},
	}
}

func missingNamespace() sickness {
	return sickness{
		reason: "A namespace that does not exist is named, and used once it exists.",
		make: func(_ *testing.T, w world) build.Object {
			return w.object(build.ConfigMap(w.target+"-later", "early"))
		},
		want: commonv1.ReasonNamespaceMissing, message: `-later" not found`,
		heal: func(t *testing.T, w world, _ build.Object) {
			kube.Create(t, w.tc, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.target + "-later"}})
		},
	}
}

func forbidden() sickness {
	return sickness{
		reason: "What the target denies is said, and done once it is allowed.",
		make: func(t *testing.T, w world) build.Object {
			pc := connectAs(t, w, target.User(t, w.target))
			o := w.object(build.ConfigMap(w.target, "secretive"))
			setConfig(o, pc)
			return o
		},
		want: commonv1.ReasonForbidden, message: "configmaps",
		heal: func(t *testing.T, w world, _ build.Object) {
			kube.Create(t, w.tc,
				&rbacv1.ClusterRole{
					ObjectMeta: metav1.ObjectMeta{Name: w.target},
					Rules: []rbacv1.PolicyRule{{
						APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"},
					}},
				},
				&rbacv1.ClusterRoleBinding{
					ObjectMeta: metav1.ObjectMeta{Name: w.target},
					RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.target},
					Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: w.target}},
				})
		},
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
			o := w.object(build.ConfigMap(w.target, "waiting"))
			setConfig(o, w.namespace+"-later")
			return o
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
			kube.Create(t, w.c, w.scope.Config(w.namespace, w.namespace+"-bare", build.FromSecret(w.namespace, "later")))
			o := w.object(build.ConfigMap(w.target, "waiting"))
			setConfig(o, w.namespace+"-bare")
			return o
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
			kube.Create(t, w.c, build.Credentials(w.namespace, "bad", content),
				w.scope.Config(w.namespace, w.namespace+"-bad", build.FromSecret(w.namespace, "bad")))
			o := w.object(build.ConfigMap(w.target, "waiting"))
			setConfig(o, w.namespace+"-bad")
			return o
		},
		want: commonv1.ReasonInvalidConnection, message: message,
		heal: func(t *testing.T, w world, _ build.Object) {
			setKubeconfig(t, w.c, w.namespace, "bad", kube.Kubeconfig(t, targetUser(t)))
		},
	}
}

func execKubeconfig() []byte {
	return []byte(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, ` +
		`args: [/tmp/x], interactiveMode: Never}}}]
`)
}

// setKubeconfig replaces the content of a credentials Secret.
func setKubeconfig(t *testing.T, c client.Client, namespace, name string, kubeconfig []byte) {
	t.Helper()
	kube.Update(t, c, build.Credentials(namespace, name, kubeconfig))
}

// TestCredentialsRotate shows that a new user in the Secret is used at once, by the watch too, and the old connection
// closed. A defect of provider-kubernetes: its watch keeps the credentials it has begun with.
func TestCredentialsRotate(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		tns := target.Namespace(t)
		ns, pc := connect(t, c, s, target.User(t, tns+"-old", "system:masters"))
		o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", "a", "1"))
		createReady(t, c, o)

		setKubeconfig(t, c, ns, "credentials", kube.Kubeconfig(t, target.User(t, tns+"-new", "system:masters")))
		audit := target.Audit(t)
		kube.Eventually(t, "a watch by the new user", func() (bool, string) {
			return len(audit.Watches(kube.Mark{}).By(tns+"-new")) > 0, "none"
		})
		mark := audit.Mark()
		setManifest(t, c, o, build.ConfigMap(tns, "settings", "a", "2"))
		awaitData(t, tc, types.NamespacedName{Namespace: tns, Name: "settings"}, map[string]string{"a": "2"})
		if diff := cmp.Diff(0, len(audit.Since(mark).By(tns+"-old"))); diff != "" {
			t.Errorf("requests by the old user after rotation: -want, +got:\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"patch configmaps": 1}, audit.Since(mark).By(tns+"-new").Count(),
			cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("requests by the new user: -want, +got:\n%s", diff)
		}
	})
}
