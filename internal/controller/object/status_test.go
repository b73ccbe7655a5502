package object

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
)

// content returns the resource of a JSON text.
func content(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestRecord(t *testing.T) {
	const (
		secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","resourceVersion":"7","labels":{"a":"b"},` +
			`"managedFields":[{"manager":"m"}],` +
			`"annotations":{"x":"y","kubectl.kubernetes.io/last-applied-configuration":"{\"data\":\"aHVudGVyMg==\"}"}},` +
			`"data":{"password":"aHVudGVyMg=="},"type":"Opaque"}`
		config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"7",` +
			`"managedFields":[{"manager":"m"}],` +
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"data":{"a":"b"}}`
		laterConfig = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"8",` +
			`"managedFields":[{"manager":"n"}],` +
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"data":{"a":"b"}}`
		bareConfig = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"7",` +
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"data":{"a":"b"}}`
		custom = `{"apiVersion":"example.org/v1","kind":"Secret","metadata":{"name":"c"},"data":{"a":"b"}}`
	)
	for name, tc := range map[string]struct {
		reason  string
		was     string // empty if nothing was recorded
		live    string
		options Options
		want    string
	}{
		"AsItIs": {
			reason: "The status shows what the target holds.", live: secret, want: secret,
		},
		"Sanitized": {
			reason: "Neither the data of a Secret are shown nor the annotation that repeats them.", live: secret,
			options: Options{SanitizeSecrets: true},
			want: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","resourceVersion":"7","labels":{"a":"b"},` +
				`"managedFields":[{"manager":"m"}],"annotations":{"x":"y"}},"data":{"redacted":null},"type":"Opaque"}`,
		},
		"SanitizedText": {
			reason: "What is no base64 is not shown either.", options: Options{SanitizeSecrets: true},
			live: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"password":"hunter2"}}`,
			want: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"redacted":null},` +
				`"data":{"redacted":null}}`,
		},
		"SanitizedAfterwards": {
			reason: "What was recorded before the option was set does not stay.", was: secret, live: secret,
			options: Options{SanitizeSecrets: true, RemoveManagedFields: true},
			want: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","resourceVersion":"7","labels":{"a":"b"},` +
				`"annotations":{"x":"y"}},"data":{"redacted":null},"type":"Opaque"}`,
		},
		"SanitizeNoOther": {
			reason:  "Other kinds are shown.",
			live:    config,
			options: Options{SanitizeSecrets: true},
			want:    config,
		},
		"SanitizeNoNamesake": {
			reason:  "A kind of that name in another group is shown.",
			live:    custom,
			options: Options{SanitizeSecrets: true},
			want:    custom,
		},
		"WithoutManagedFields": {
			reason:  "Managed fields are left out.",
			live:    config,
			options: Options{RemoveManagedFields: true},
			want:    bareConfig,
		},
		"ManagedFieldsRecorded": {
			reason:  "Managed fields that were recorded go.",
			was:     config,
			live:    config,
			options: Options{RemoveManagedFields: true},
			want:    bareConfig,
		},
		"SameEssence": {
			reason: "Another resource version alone is not worth a write.",
			was:    config,
			live:   laterConfig,
			want:   config,
		},
		"Changed": {reason: "Any other change is.", was: config, live: custom, want: custom},
	} {
		t.Run(name, func(t *testing.T) {
			o := &objectv1alpha2.Object{}
			obs := o.Observed()
			obs.Manifest.Raw = []byte(tc.was)
			live := content(t, tc.live)
			if err := record(o, live, tc.options); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(content(t, tc.want), content(t, string(obs.Manifest.Raw))); diff != "" {
				t.Errorf("%s\nstatus.atProvider.manifest: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(content(t, tc.live), live); diff != "" {
				t.Errorf("%s\nThe resource belongs to the watch: -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}
