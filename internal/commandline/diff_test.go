package commandline_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// secretTexts are values of Secrets, as they are and in base64.
var secretTexts = []string{"hunter2", "aHVudGVyMg==", "swordfish", "c3dvcmRmaXNo"}

// Beginnings of manifests.
const (
	configMap  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: $T}, `
	labelled   = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: $T, `
	secret     = `{apiVersion: v1, kind: Secret, metadata: {name: login, namespace: $T}, `
	service    = `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: $T}, spec: {selector: {a: b}, `
	role       = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: $T}, rules: [`
	rule       = `{apiGroups: [""], resources: [pods], verbs: [get]}`
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: $T}, spec: {`
	template   = `selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [` +
		`{name: c, image: i, resources: {limits: {cpu: `
)

// A row is what is on the target, what is in a file, and what the command says of it.
type row struct {
	live     string // what others have made
	applied  string // what the Object has applied before
	then     string // a patch by others after that
	manifest string
	change   func(o build.Object, w world)
	effect   commandline.Effect
	want     string // the text after the name of the Object
}

// observeOnly keeps an Object from applying.
func observeOnly(o build.Object, _ world) {
	o.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
}

// patches makes an Object read a field of a resource of the control plane.
func patches(kind, name, from, to string) func(build.Object, world) {
	return func(o build.Object, w world) {
		o.Desired().References = []commonv1.Reference{{ToFieldPath: &to, PatchesFrom: &commonv1.PatchesFrom{
			APIVersion: "v1", Kind: kind, Name: name, Namespace: w.namespace, FieldPath: from,
		}}}
	}
}

var rows = map[string]row{
	"Equal": {live: configMap + `data: {color: blue}}`, manifest: configMap + `data: {color: blue}}`},
	"NullField": {
		live: configMap + `data: {color: blue}}`, manifest: configMap + `data: {color: blue}, binaryData: null}`,
	},
	"EqualByDefaults": {
		live:     deployment + template + `"1"}}}]}}}}`,
		manifest: deployment + `strategy: {type: RollingUpdate}, ` + template + `"1"}}}]}}}}`,
	},
	"SpellingOfQuantity": {
		live: deployment + template + `"1"}}}]}}}}`, manifest: deployment + template + `1000m}}}]}}}}`,
	},
	"OtherVersion": {
		live: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: $T}, spec: {` +
			`maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`,
		manifest: `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, ` +
			`metadata: {name: web, namespace: $T}, spec: {` +
			`maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`,
		effect: commandline.Changes,
		want:   `→ HorizontalPodAutoscaler $T/web on $L: would change spec.maxReplicas 3 → 4`,
	},
	"ValueOfAnother": {
		live: configMap + `data: {color: blue}}`, manifest: configMap + `data: {color: red}}`,
		effect: commandline.Changes, want: `→ ConfigMap $T/settings on $L: would change data.color "blue" → "red"`,
	},
	"Several": {
		live:     configMap + `data: {color: "blue\u009b", kept: "yes"}}`,
		manifest: configMap + `data: {color: red, shape: round}}`,
		effect:   commandline.Changes, want: "→ ConfigMap $T/settings on $L: would change\n" +
			`  data.color "blue " → "red"` + "\n" + `  data.shape (none) → "round"`,
	},
	"Missing": {
		manifest: configMap + `data: {color: red}}`,
		effect:   commandline.Creates, want: `→ ConfigMap $T/settings on $L: would create it`,
	},
	"Scaled": {
		live:     deployment + `replicas: 2, ` + template + `"1"}}}]}}}}`,
		manifest: deployment + `replicas: 3, ` + template + `"1"}}}]}}}}`,
		effect:   commandline.Changes, want: `→ Deployment $T/web on $L: would change spec.replicas 2 → 3`,
	},
	"Immutable": {
		live: deployment + template + `"1"}}}]}}}}`,
		manifest: deployment + `selector: {matchLabels: {a: c}}, ` +
			`template: {metadata: {labels: {a: c}}, spec: {containers: [{name: c, image: i}]}}}}`,
		effect: commandline.Invalid, want: `field is immutable`,
	},
	"KeyedList": {
		live:     service + `ports: [{name: http, port: 80}]}}`,
		manifest: service + `ports: [{name: http, port: 80, targetPort: 8080}]}}`,
		effect:   commandline.Changes, want: `→ Service $T/web on $L: would change spec.ports[0].targetPort 80 → 8080`,
	},
	"AtomicList": {
		live:     role + rule + `]}`,
		manifest: role + rule + `, {apiGroups: [""], resources: [secrets], verbs: [get]}]}`,
		effect:   commandline.Changes, want: `→ Role $T/r on $L: would change rules ` +
			`[{"apiGroups":[""],"resources":["pods"],` +
			`"verbs":["get"]}] → [{"apiGroups":[""],"resources":["pods"],"verbs":["get"]},` +
			`{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]`,
	},
	"Labels": {
		live:     labelled + `labels: {app: a}}}`,
		manifest: labelled + `labels: {app: b}, annotations: {example.org/x: "1"}}}`,
		effect:   commandline.Changes, want: "→ ConfigMap $T/settings on $L: would change\n" +
			`  metadata.annotations (none) → {"example.org/x":"1"}` + "\n" + `  metadata.labels.app "a" → "b"`,
	},
	"CopyOfKubectl": {
		live:     labelled + `annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2}}}`,
		manifest: labelled + `annotations: {kubectl.kubernetes.io/last-applied-configuration: swordfish}}}`,
		effect:   commandline.Changes, want: `→ ConfigMap $T/settings on $L: would change ` +
			`metadata.annotations[kubectl.kubernetes.io/last-applied-configuration] "***" → "***"`,
	},
	"Secret": {
		live: secret + `data: {password: aHVudGVyMg==}}`, manifest: secret + `data: {password: c3dvcmRmaXNo}}`,
		effect: commandline.Changes, want: `→ Secret $T/login on $L: would change data.password "***" → "***"`,
	},
	"SecretInPlainText": {
		live:     secret + `data: {password: aHVudGVyMg==}}`,
		manifest: secret + `stringData: {password: hunter2, token: swordfish}}`,
		effect:   commandline.Changes, want: `→ Secret $T/login on $L: would change data.token (none) → "***"`,
	},
	"SecretMissing": {
		manifest: secret + `stringData: {password: hunter2}}`,
		effect:   commandline.Creates, want: `→ Secret $T/login on $L: would create it`,
	},
	"SecretRefused": {
		manifest: secret + `data: {password: hunter2}}`,
		effect:   commandline.Invalid, want: `data.password is not base64`,
	},
	"InvalidKey": {
		manifest: configMap + `data: {a b: c}}`,
		effect:   commandline.Invalid, want: `a valid config key must consist of`,
	},
	"WrongType": {
		manifest: configMap + `data: [a]}`, effect: commandline.Invalid, want: `failed to create typed patch object`,
	},
	"UnknownKind": {
		manifest: `{apiVersion: example.org/v1, kind: Cat, metadata: {name: c, namespace: $T}}`, effect: commandline.Unknown,
		want: `→ Cat $T/c on $L: unknown: cannot find kind of manifest: target does not serve kind Cat of example.org/v1`,
	},
	"NoNamespace": {
		manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}`, effect: commandline.Invalid,
		want: `spec.forProvider.manifest.metadata.namespace is not set, and kind ConfigMap is namespaced`,
	},
	"NeedlessNamespace": {
		manifest: `{apiVersion: v1, kind: Namespace, metadata: {name: $T, namespace: x, labels: {a: b}}}`,
		effect:   commandline.Changes, want: `→ Namespace $T on $L: would change metadata.labels.a (none) → "b"`,
	},
	"NamespaceMissing": {
		manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: $T-no}}`,
		effect:   commandline.Unknown, want: `namespaces "$T-no" not found`,
	},
	"List": {
		manifest: `{apiVersion: v1, kind: List, items: []}`,
		effect:   commandline.Invalid, want: `spec.forProvider.manifest is a list: use an Object for each item`,
	},
	"OnlyCreatable": {
		manifest: `{apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview, metadata: {name: x}}`,
		effect:   commandline.Invalid, want: `kind SelfSubjectReview cannot be read`,
	},
	"FieldsOfTheServer": {
		live: configMap + `data: {color: blue}}`,
		manifest: labelled + `uid: u, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z", generation: 7}, ` +
			`data: {color: blue}, status: {x: y}}`,
	},
	"FieldGivenUp": {
		applied: configMap + `data: {color: blue, shape: round}}`, manifest: configMap + `data: {color: blue}}`,
		effect: commandline.Changes, want: `→ ConfigMap $T/settings on $L: would change data.shape "round" → (none)`,
	},
	"Drift": {
		applied: configMap + `data: {color: blue}}`, then: `{"data":{"color":"green","theirs":"x"}}`,
		manifest: configMap + `data: {color: blue}}`,
		effect:   commandline.Changes, want: `→ ConfigMap $T/settings on $L: would change data.color "green" → "blue"`,
	},
	"Settled": {
		applied: configMap + `data: {color: blue}}`, manifest: configMap + `data: {color: blue}}`,
	},
	"Observed": {
		live: configMap + `data: {color: blue}}`, manifest: configMap + `data: {color: red}}`, change: observeOnly,
		effect: commandline.Changes, want: `→ ConfigMap $T/settings on $L: would change data.color "blue" → "red": ` +
			`the management policies do not allow that`,
	},
	"LeftToOthers": {
		live:     deployment + `replicas: 2, ` + template + `"1"}}}]}}}}`,
		manifest: deployment + `replicas: 3, ` + template + `"2"}}}]}}}}`,
		change: func(o build.Object, _ world) {
			o.Desired().ForProvider.IgnoreFields = []commonv1.IgnoredField{{FieldPath: "spec.replicas"}}
		},
		effect: commandline.Changes, want: `→ Deployment $T/web on $L: would change ` +
			`spec.template.spec.containers[0].resources.limits.cpu "1" → "2"`,
	},
	"Reference": {
		live: configMap + `data: {color: blue}}`, manifest: configMap + `data: {}}`,
		change: patches("ConfigMap", "source", "data.color", "data.color"),
		effect: commandline.Changes, want: `→ ConfigMap $T/settings on $L: would change data.color "blue" → "red"`,
	},
	"ReferenceToSecret": {
		live: configMap + `data: {password: hunter2}}`, manifest: configMap + `data: {}}`,
		change: patches("Secret", "source", "data.password", "data.password"),
		effect: commandline.Changes, want: `→ ConfigMap $T/settings on $L: would change data.password "***" → "***"`,
	},
	"NameByReference": {
		live: configMap + `data: {color: blue}}`, manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: $T}, ` +
			`data: {color: red}}`,
		change: patches("ConfigMap", "source", "data.name", "metadata.name"),
		effect: commandline.Changes, want: `→ ConfigMap $T/settings on $L: would change data.color "blue" → "red"`,
	},
	"ReferenceToNothing": {
		manifest: configMap + `data: {}}`, change: patches("ConfigMap", "later", "data.color", "data.color"),
		effect: commandline.Unknown, want: `→ ConfigMap $T/settings on $L: unknown: ` +
			`waiting for ConfigMap $L/later to exist`,
	},
	"ReferenceToNoField": {
		manifest: configMap + `data: {}}`, change: patches("ConfigMap", "source", "data.size", "data.color"),
		effect: commandline.Unknown,
		want:   `→ ConfigMap $T/settings on $L: unknown: waiting for ConfigMap $L/source to have field data.size`,
	},
	"NoProviderConfig": {
		manifest: configMap + `data: {}}`, change: func(o build.Object, w world) {
			switch o := o.(type) {
			case *objectv1alpha2.Object:
				o.Spec.ProviderConfigReference.Name = w.namespace + "-no"
			case *mobjectv1alpha1.Object:
				o.Spec.ProviderConfigReference.Name = w.namespace + "-no"
			}
		},
		effect: commandline.Unknown, want: `cannot get ProviderConfig "$L-no": it does not exist`,
	},
}

// TestDiffIsThePreview shows what the command says of Objects in files. The text, the fields and the values are those
// of a preview of the same Object by the provider, and none is a value of a Secret.
func TestDiffIsThePreview(t *testing.T) {
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			for name, r := range rows {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					r.check(t, newWorld(t, s))
				})
			}
		})
	}
}

// check makes what a row has, and compares what provider and command say of it.
func (r row) check(t *testing.T, w world) {
	t.Helper()
	kube.Create(t, w.c,
		&corev1.ConfigMap{
			ObjectMeta: build.Meta(w.namespace, "source"),
			Data:       map[string]string{"color": "red", "name": "settings"},
		},
		&corev1.Secret{
			ObjectMeta: build.Meta(w.namespace, "source"), Data: map[string][]byte{"password": []byte("swordfish")},
		})
	if r.live != "" {
		kube.Create(t, w.tc, &unstructured.Unstructured{Object: w.manifest(t, r.live)})
	}
	o := w.scope.Object(w.namespace, w.namespace, w.namespace, w.manifest(t, r.manifest))
	if r.change != nil {
		r.change(o, w)
	}
	o.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"})
	if r.applied == "" {
		kube.Create(t, w.c, o)
	} else {
		o = w.scope.Object(w.namespace, w.namespace, w.namespace, w.manifest(t, r.applied))
		kube.Create(t, w.c, o)
		provider.AwaitReady(t, w.c, o)
		kube.Edit(t, w.c, o, func() {
			o.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"})
			o.Desired().ForProvider.Manifest = build.Raw(w.manifest(t, r.manifest))
		})
		if r.then != "" {
			kube.Patch(t, w.tc, &unstructured.Unstructured{Object: w.manifest(t, r.applied)}, r.then)
		}
	}
	filed := w.scope.Object(w.namespace, o.GetName(), w.namespace, w.manifest(t, r.manifest))
	if r.change != nil {
		r.change(filed, w)
	}
	opts := options(t, local.Config(), w.file(t, filed))
	kube.Eventually(t, "the command to say what a preview says", func() (bool, string) {
		kube.Get(t, w.c, client.ObjectKeyFromObject(o), o)
		report, err := commandline.Diff(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if differs := r.disagrees(t, w, o, report); differs != "" {
			return false, differs
		}
		return true, ""
	})
}

// disagrees returns how a report differs from what a row wants and from what an Object says of its preview.
func (r row) disagrees(t *testing.T, w world, o build.Object, report *commandline.Report) string {
	t.Helper()
	text, js := texts(t, report)
	for _, s := range secretTexts {
		if strings.Contains(text+js, s) {
			t.Errorf("%q of a Secret is in the output:\n%s%s", s, text, js)
		}
	}
	got, effect := report.Results[0], cmp.Or(r.effect, commandline.None)
	text = strings.TrimSpace(strings.TrimPrefix(text, got.Object+" "))
	want := w.names(r.want)
	fits := text == want || effect != commandline.Changes && effect != commandline.Creates && want != "" &&
		strings.Contains(text, want)
	if got.Effect != effect || !fits {
		return "the command says " + string(got.Effect) + ": " + text + "\nand not " + want
	}
	preview, synced := o.GetCondition(commonv1.TypeUpToDate), o.GetCondition(xpv2.TypeSynced)
	says := string(preview.Reason) + ": " + preview.Message + "\n" + string(synced.Reason) + ": " + synced.Message
	ops, status := operations(t, got.Diff), operations(t, o.Observed().Diff)
	switch {
	case effect == commandline.None:
		fits = preview.Reason == commonv1.ReasonNoDifference
	case effect == commandline.Unknown || effect == commandline.Invalid:
		fits = strings.Contains(says, strings.Join(got.Messages, "; ")) && o.Observed().Diff == nil
	default:
		fits = preview.Reason == commonv1.ReasonDifferent && ops == status
	}
	if !fits {
		return "the command says " + text + "\n" + ops + "\nand the preview " + says + "\n" + status
	}
	return ""
}

func operations(t *testing.T, ops []commonv1.DiffOperation) string {
	t.Helper()
	b, err := json.Marshal(ops)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
