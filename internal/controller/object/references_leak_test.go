package object_test

import (
	"encoding/base64"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
			as:   formatted(),
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
			change: func(o build.Object) { o.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"}) },
			want: wantCondition{
				Type: commonv1.TypeUpToDate, Status: corev1.ConditionFalse, Reason: commonv1.ReasonCannotCompare,
			},
			field: "metadata.labels",
		},
	}
}

// TestValuesOfReferencesAreNotTold shows that a value which a reference takes from a Secret is in no condition and no
// event when the target refuses it, in no encoding, although the manifest is no Secret; and that the message names the
// field.
func TestValuesOfReferencesAreNotTold(t *testing.T) {
	for name, tc := range secretiveReferences() {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				source := &corev1.Secret{
					ObjectMeta: build.Meta(w.namespace, "source"), Data: map[string][]byte{"password": []byte(leaks)},
				}
				kube.Create(t, w.c, source)
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

// formatted returns a transform of a value to a longer one.
func formatted() []commonv1.Transform {
	return []commonv1.Transform{{Type: commonv1.TransformString, String: &commonv1.StringTransform{Format: "pw <%s>"}}}
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
