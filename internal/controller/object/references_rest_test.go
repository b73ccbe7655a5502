package object_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestReferencesAtRestCostNothing shows that settled Objects with references of all kinds ask nothing of any server
// when they are reconciled.
func TestReferencesAtRestCostNothing(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		w.source(t, "source", map[string]string{"color": "red"})
		one := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "one"), Data: map[string]string{"size": "2"}}
		one.SetLabels(map[string]string{"app": "paint"})
		kube.Create(t, w.c, one)
		first := w.keeper("1", w.from("source", "data.color", "data.color"))
		second := w.keeper("2", w.on("1"),
			commonv1.Reference{ToFieldPath: new("data.size"), FromObject: &commonv1.FromObject{
				APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, MatchLabels: one.GetLabels(),
				FieldPath: "data.size",
			}})
		kube.Create(t, w.c, first, second)
		awaitReady(t, w.c, second)
		awaitPinned(t, w.c, second, first, true)
		awaitReady(t, w.c, first)
		awaitUsers(t, w.c, w.scope.Config(w.namespace, w.config, commonv1.ProviderConfigSpec{}), 2)
		there, here := target.Audit(t), local.Audit(t)
		thereMark, hereMark := there.Mark(), here.Mark()
		holds(t, w.c, "no request", func() (bool, string) {
			asked := append(slices.Clone(there.Since(thereMark).By(w.user)), about(here.Since(hereMark).By(user), w)...)
			return len(asked) == 0, asked.String()
		}, first, second)
	})
}

// about returns the requests about what a world holds on the control plane. Events are left out: they are written some
// time after what they tell.
func about(requests kube.Requests, w world) kube.Requests {
	var found kube.Requests
	for _, e := range requests {
		if e.Subject() == "events" {
			continue
		}
		if e.Namespace == w.namespace || strings.HasPrefix(e.Name, w.target) {
			found = append(found, e)
		}
	}
	return found
}

// TestReferencesStayInNamespace shows that an Object of a namespace neither reads nor pins what lies outside of it: not
// in another namespace, not cluster-scoped, not through labels. provider-kubernetes reads and pins with its own rights,
// in any namespace.
func TestReferencesStayInNamespace(t *testing.T) {
	c := provide(t)
	foreign := local.Namespace(t)
	theirs := build.Credentials(foreign, "theirs", []byte("hidden"))
	theirs.SetLabels(map[string]string{"app": "theirs"})
	kube.Create(t, c, theirs)
	for name, tc := range map[string]struct {
		reason string
		ref    commonv1.Reference
		want   []string
		wait   xpv2.ConditionReason
	}{
		"OtherNamespace": {
			reason: "A Secret of another namespace is not read.",
			ref: patches(commonv1.PatchesFrom{
				APIVersion: "v1", Kind: "Secret", Namespace: foreign, Name: "theirs", FieldPath: "data.kubeconfig",
			}),
			want: []string{
				`spec.references[0].patchesFrom: namespace "` + foreign + `" is not that of the Object`,
				"--allow-cross-namespace-references",
			},
			wait: commonv1.ReasonInvalidReference,
		},
		"Selected": {
			reason: "Nor is it found by its labels.",
			ref: patches(commonv1.PatchesFrom{
				APIVersion: "v1", Kind: "Secret", Namespace: foreign, FieldPath: "data.kubeconfig",
				Selector: selectorOf("app", "theirs"),
			}),
			want: []string{"is not that of the Object"}, wait: commonv1.ReasonInvalidReference,
		},
		"SelectedAnywhere": {
			reason: "Labels are looked for in the own namespace.",
			ref: patches(commonv1.PatchesFrom{
				APIVersion: "v1", Kind: "Secret", FieldPath: "data.kubeconfig", Selector: selectorOf("app", "theirs"),
			}),
			want: []string{"to exist"}, wait: commonv1.ReasonWaitingForReference,
		},
		"ClusterScoped": {
			reason: "What belongs to no namespace is not pinned.",
			ref: commonv1.Reference{DependsOn: &commonv1.DependsOn{
				APIVersion: "v1", Kind: "Namespace", Name: foreign,
			}},
			want: []string{"is cluster-scoped"}, wait: commonv1.ReasonInvalidReference,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, build.Namespaced())
			o := w.keeper("settings", tc.ref)
			kube.Create(t, c, o)
			if message := awaitCondition(t, c, o, failed(tc.wait), tc.want...); strings.Contains(message, "hidden") {
				t.Errorf("%s\nmessage of condition Synced: got %q", tc.reason, message)
			}
			w.exists(t, w.kept("settings"), false)
			awaitRecorded(t, c, o)
			awaitPinned(t, c, o, theirs, false)
		})
	}
}

// leaks is a password that no server takes where a test puts it, and which it therefore quotes.
const leaks = "hunter2 <of> \"production\""

// secretiveReference is an Object that puts a value which the target refuses into a manifest that is no Secret.
type secretiveReference struct {
	reason   string
	manifest func(w world) build.Manifest
	to       string
	as       []commonv1.Transform
	change   func(o build.Object)
	want     wantCondition
	field    string // which the message names
}

func secretiveReferences() map[string]secretiveReference {
	configMap := func(w world) build.Manifest { return build.ConfigMap(w.target, "settings", "color", "blue") }
	service := func(w world) build.Manifest {
		return build.Manifest{
			"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"namespace": w.target, "name": "web"},
			"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}},
		}
	}
	return map[string]secretiveReference{
		"Label": {
			reason: "A label that is invalid is named by its field.", manifest: configMap,
			to:   "metadata.labels.password",
			want: failed(commonv1.ReasonInvalidManifest), field: "metadata.labels",
		},
		"LabelFormatted": {
			reason: "So is one that the value is a part of.", manifest: configMap, to: "metadata.labels.password",
			as: []commonv1.Transform{{
				Type: commonv1.TransformString, String: &commonv1.StringTransform{Format: "pw <%s>"},
			}},
			want: failed(commonv1.ReasonInvalidManifest), field: "metadata.labels",
		},
		"Type": {
			reason: "A value of another type than the schema wants is named by its field.", manifest: service,
			to:   "spec.ports[0].port",
			want: failed(commonv1.ReasonInvalidManifest), field: "spec.ports",
		},
		"Enum": {
			reason: "So is a value that is none of those allowed.", manifest: service, to: "spec.type",
			want: failed(commonv1.ReasonInvalidManifest), field: "spec.type",
		},
		"DryRun": {
			reason: "A preview that the target refuses repeats no value.", manifest: configMap,
			to:     "metadata.labels.password",
			change: func(o build.Object) { onDryRun(o) },
			want:   cannotCompare, field: "metadata.labels",
		},
	}
}

// TestRevokedRightsGo shows that the author of an Object cannot keep a RoleBinding of the namespace by a reference to
// it: its rights count until it is gone.
func TestRevokedRightsGo(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	binding := &rbacv1.RoleBinding{
		ObjectMeta: build.Meta(w.namespace, "editors"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "author"}},
	}
	kube.Create(t, c, binding)
	o := w.keeper("settings", commonv1.Reference{DependsOn: &commonv1.DependsOn{
		APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding", Name: binding.GetName(),
	}})
	createReady(t, c, o)
	kube.Remove(t, c, binding)
	kube.Remove(t, c, o)
}

// TestValuesOfReferencesAreNotTold shows that a value which a reference takes from a Secret is in no condition and no
// event when the target refuses it, in no encoding, although the manifest is no Secret; and that the message names the
// field.
func TestValuesOfReferencesAreNotTold(t *testing.T) {
	for name, tc := range secretiveReferences() {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				kube.Create(t, w.c, &corev1.Secret{
					ObjectMeta: build.Meta(w.namespace, "source"), Data: map[string][]byte{"password": []byte(leaks)},
				})
				o := w.object(tc.manifest(w))
				o.Desired().References = []commonv1.Reference{{ToFieldPath: &tc.to, PatchesFrom: &commonv1.PatchesFrom{
					APIVersion: "v1", Kind: "Secret", Namespace: w.namespace, Name: "source",
					FieldPath:  "data.password",
					Transforms: tc.as,
				}}}
				if tc.change != nil {
					tc.change(o)
				}
				kube.Create(t, w.c, o)
				awaitCondition(t, w.c, o, tc.want, tc.field)
				checkUntold(t, w.c, o)
			})
		})
	}
}

// checkUntold checks that neither the conditions nor the events of an Object hold the password.
func checkUntold(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	encoded := base64.StdEncoding.EncodeToString([]byte(leaks))
	texts := events(t, c, o, "")
	for _, ct := range []xpv2.ConditionType{xpv2.TypeSynced, xpv2.TypeReady, commonv1.TypeUpToDate} {
		texts = append(texts, o.GetCondition(ct).Message)
	}
	for _, text := range texts {
		for _, part := range []string{"hunter2", encoded[:12]} {
			if strings.Contains(text, part) {
				t.Errorf("want no value of the Secret in conditions and events, got: %s", text)
			}
		}
	}
}
