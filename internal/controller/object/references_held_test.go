package object_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestReferencesArePinnedAndReleased shows that a reference added later pins what it names, that a finalizer somebody
// takes off comes back, that what is no longer referred to is let go, and that finalizers of others stay.
// provider-kubernetes pins only what it refers to at first, and releases only what it refers to at last (its #371 and
// #28).
func TestReferencesArePinnedAndReleased(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		a, b := w.source(t, "a", nil), w.source(t, "b", nil)
		setFinalizers(t, w.c, b, theirFinalizer)
		o := w.keeper("settings")
		createReady(t, w.c, o)

		mark := local.Audit(t).Mark()
		setReferences(t, w.c, o, w.onConfigMap("a"))
		awaitPinned(t, w.c, o, a, true)
		checkRecordedFirst(t, mark, o, a)
		unpin(t, w.c, a)
		awaitPinned(t, w.c, o, a, true)

		setReferences(t, w.c, o, w.onConfigMap("b"))
		awaitPinned(t, w.c, o, a, false)
		awaitPinned(t, w.c, o, b, true)
		awaitRecorded(t, w.c, o, "ConfigMap b")

		setReferences(t, w.c, o, w.onConfigMap("missing"))
		awaitPinned(t, w.c, o, b, false)
		setReferences(t, w.c, o, w.onConfigMap("a"), w.onConfigMap("b"))
		awaitPinned(t, w.c, o, a, true)
		setReferences(t, w.c, o)
		awaitPinned(t, w.c, o, a, false)
		awaitPinned(t, w.c, o, b, false)
		awaitRecorded(t, w.c, o)
		awaitReady(t, w.c, o)
		if diff := cmp.Diff([]string{theirFinalizer}, b.GetFinalizers()); diff != "" {
			t.Errorf("finalizers of others: -want, +got:\n%s", diff)
		}
	})
}

// checkRecordedFirst checks that the status of an Object was written before the finalizer on what it refers to: a crash
// in between must not leave a finalizer that nobody knows of.
func checkRecordedFirst(t *testing.T, mark kube.Mark, o build.Object, x client.Object) {
	t.Helper()
	record, pin := -1, -1
	// They take effect before they are answered.
	kube.Eventually(t, "both writes to be in the audit", func() (bool, string) {
		requests := local.Audit(t).Since(mark).By(user)
		for i, e := range slices.Backward(requests) {
			switch {
			case e.Verb == "patch" && e.Name == o.GetName() && strings.HasSuffix(e.Subject(), "/status"):
				record = i
			case e.Verb == "patch" && e.Name == x.GetName() && e.Subject() == "configmaps" &&
				e.Namespace == x.GetNamespace():
				pin = i
			}
		}
		return record >= 0 && pin >= 0, requests.String()
	})
	if pin < record {
		t.Errorf("want the record before the finalizer, got requests %d and %d", record, pin)
	}
}

// setFinalizers gives a resource other finalizers.
func setFinalizers(t *testing.T, c client.Client, x client.Object, finalizers ...string) {
	t.Helper()
	patch := `{"metadata":{"finalizers":["` + strings.Join(finalizers, `","`) + `"]}}`
	kube.Patch(t, c, x, patch)
}

// unpin takes all finalizers off a resource.
func unpin(t *testing.T, c client.Client, x client.Object) {
	t.Helper()
	err := c.Patch(t.Context(), x, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// TestReferredResourceStays shows that a deleted resource of any kind stays until the Object that refers to it is gone.
func TestReferredResourceStays(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		source := w.source(t, "source", map[string]string{"color": "red"})
		o := w.keeper("settings", w.from("source", "data.color", "data.color"))
		createReady(t, w.c, o)
		kube.Delete(t, w.c, source)
		touch(t, w.c, o)
		awaitPinned(t, w.c, o, source, true)
		awaitReady(t, w.c, o)
		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.c, source)
	})
}

// TestDeletionNeedsNoReference shows that an Object whose references lead nowhere any more can be deleted with its
// resource.
func TestDeletionNeedsNoReference(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		source := w.source(t, "source", map[string]string{"name": "chosen"})
		o := w.keeper("settings", w.from("source", "data.name", "metadata.name"))
		createReady(t, w.c, o)
		pause(t, w.c, o)
		unpin(t, w.c, source)
		kube.Remove(t, w.c, source)
		unpause(t, w.c, o)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonWaitingForReference))
		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.tc, w.kept("chosen"))
	})
}

// TestUnrecordedPinIsReleased shows that the finalizer an earlier provider has left, without a record, goes with the
// Object.
func TestUnrecordedPinIsReleased(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.keeper("settings", w.onConfigMap("source"), w.onConfigMap("missing"))
		o.SetManagementPolicies(neverDelete)
		o.SetFinalizers([]string{"finalizer.managedresource.crossplane.io"})
		o.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
		kube.Create(t, w.c, o)
		source := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "source")}
		source.SetFinalizers([]string{referred(o)})
		kube.Create(t, w.c, source)
		kube.Delete(t, w.c, o)
		unpause(t, w.c, o)
		kube.AwaitGone(t, w.c, o)
		awaitPinned(t, w.c, o, source, false)
	})
}

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
	secret := commonv1.PatchesFrom{APIVersion: "v1", Kind: "Secret", Name: "theirs", FieldPath: "data.kubeconfig"}
	elsewhere, selected := secret, secret
	elsewhere.Namespace, selected.Name, selected.Selector = foreign, "", selectorOf("app", "theirs")
	selectedElsewhere := selected
	selectedElsewhere.Namespace = foreign
	for name, tc := range map[string]struct {
		ref  commonv1.Reference
		want []string
		wait xpv2.ConditionReason
	}{
		"OtherNamespace": {
			ref: patches(elsewhere),
			want: []string{
				`spec.references[0].patchesFrom: namespace "` + foreign + `" is not the namespace of the Object`,
				"--allow-cross-namespace-references",
			},
			wait: commonv1.ReasonInvalidReference,
		},
		"Selected": {
			ref:  patches(selectedElsewhere),
			want: []string{"is not the namespace of the Object"}, wait: commonv1.ReasonInvalidReference,
		},
		"SelectedAnywhere": { // Labels are looked for in the own namespace.
			ref: patches(selected), want: []string{"to exist"}, wait: commonv1.ReasonWaitingForReference,
		},
		"ClusterScoped": {
			ref:  commonv1.Reference{DependsOn: &commonv1.DependsOn{APIVersion: "v1", Kind: "Namespace", Name: foreign}},
			want: []string{"is cluster-scoped"}, wait: commonv1.ReasonInvalidReference,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, build.Namespaced())
			o := w.keeper("settings", tc.ref)
			kube.Create(t, c, o)
			if message := awaitCondition(t, c, o, failed(tc.wait), tc.want...); strings.Contains(message, "hidden") {
				t.Errorf("message of condition Synced: got %q", message)
			}
			w.exists(t, w.kept("settings"), false)
			awaitRecorded(t, c, o)
			awaitPinned(t, c, o, theirs, false)
		})
	}
}

// leaks is a password that no server takes where a test puts it, and which it therefore quotes.
const leaks = "hunter2 <of> \"production\""

// TestRevokedRightsGo shows that the author of an Object cannot keep a RoleBinding of the namespace by a reference to
// it: its rights count until it is gone.
func TestRevokedRightsGo(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	binding := &rbacv1.RoleBinding{
		ObjectMeta: build.Meta(w.namespace, "editors"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{build.User("author")},
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
// event when the target refuses it, as it is or as a part of another one, in no encoding, although the manifest is no
// Secret; and that the message names the field.
func TestValuesOfReferencesAreNotTold(t *testing.T) {
	configMap := func(w world) build.Manifest { return build.ConfigMap(w.target, "settings", "color", "blue") }
	web := func(w world) build.Manifest { return service(w.target, port("", 80)) }
	formatted := commonv1.Transform{
		Type: commonv1.TransformString, String: &commonv1.StringTransform{Format: "pw <%s>"},
	}
	const label = "metadata.labels.password"
	invalid := failed(commonv1.ReasonInvalidManifest)
	for name, tc := range map[string]struct {
		manifest func(w world) build.Manifest
		to       string
		as       []commonv1.Transform
		want     wantCondition
		field    string // which the message names
	}{
		"Label": {manifest: configMap, to: label, want: invalid, field: "metadata.labels"},
		"LabelFormatted": {
			manifest: configMap, to: label, as: []commonv1.Transform{formatted}, want: invalid, field: "metadata.labels",
		},
		"Type":   {manifest: web, to: "spec.ports[0].port", want: invalid, field: "spec.ports"},
		"Enum":   {manifest: web, to: "spec.type", want: invalid, field: "spec.type"},
		"DryRun": {manifest: configMap, to: label, want: cannotCompare, field: "metadata.labels"},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				kube.Create(t, w.c, &corev1.Secret{
					ObjectMeta: build.Meta(w.namespace, "source"), Data: map[string][]byte{"password": []byte(leaks)},
				})
				o := w.object(tc.manifest(w))
				o.Desired().References = []commonv1.Reference{{ToFieldPath: &tc.to, PatchesFrom: &commonv1.PatchesFrom{
					APIVersion: "v1", Kind: "Secret", Namespace: w.namespace, Name: "source", FieldPath: "data.password",
					Transforms: tc.as,
				}}}
				if name == "DryRun" {
					onDryRun(o)
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
