package object

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
)

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
			live := parse(t, tc.live)
			if err := record(o, live, tc.options); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tc.want), parse(t, string(obs.Manifest.Raw))); diff != "" {
				t.Errorf("%s\nstatus.atProvider.manifest: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(parse(t, tc.live), live); diff != "" {
				t.Errorf("%s\nThe resource belongs to the watch: -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}

// sized returns a ConfigMap with a UID and a value of a size.
func sized(uid, version string, size int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": strings.Repeat("x", size)},
		"metadata": map[string]any{"namespace": "n", "name": "c", "uid": uid, "resourceVersion": version},
	}}
}

// TestOmit shows that a resource which the control plane has found too large stays left out of the status as long as it
// is no smaller, that nothing changes in the status then, and that it is shown again when it has shrunk or is another
// one.
func TestOmit(t *testing.T) {
	const identity = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"n","uid":"u"}}`
	for name, tc := range map[string]struct {
		reason string
		later  *unstructured.Unstructured
		shown  bool
	}{
		"Same":    {reason: "It stays left out.", later: sized("u", "1", 1000)},
		"Version": {reason: "A longer resource version makes no difference.", later: sized("u", "123456", 1000)},
		"Larger":  {reason: "So it does if it grows.", later: sized("u", "2", 5000)},
		"Huge":    {reason: "So it does if it cannot fit.", later: sized("u", "2", 5_000_000)},
		"Smaller": {reason: "One that has shrunk is shown.", later: sized("u", "2", 500), shown: true},
		"Other":   {reason: "Another one is.", later: sized("v", "2", 1000), shown: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := &objectv1alpha2.Object{}
			if err := record(o, sized("u", "1", 1000), Options{}); err != nil || o.Observed().OmittedBytes != 0 {
				t.Fatalf("want it shown at first, got omittedBytes %d, %v", o.Observed().OmittedBytes, err)
			}
			if !shrink(o) || shrink(o) {
				t.Fatal("want the content dropped, once")
			}
			if got := string(o.Observed().Manifest.Raw); got != identity {
				t.Errorf("want %s, got %s", identity, got)
			}
			before := *o.Observed()
			if err := record(o, tc.later, Options{}); err != nil {
				t.Fatal(err)
			}
			if shown := o.Observed().OmittedBytes == 0; shown != tc.shown {
				t.Errorf("%s\nwant shown %t, got omittedBytes %d", tc.reason, tc.shown, o.Observed().OmittedBytes)
			}
			if diff := cmp.Diff(before, *o.Observed()); !tc.shown && diff != "" {
				t.Errorf("%s\nstatus.atProvider: -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFits shows that a resource is left out which cannot fit beside the manifest, without a try.
func TestFits(t *testing.T) {
	o := &objectv1alpha2.Object{}
	o.Desired().ForProvider.Manifest.Raw = []byte(`"` + strings.Repeat("x", 900_000) + `"`)
	if err := record(o, sized("u", "1", 900_000), Options{}); err != nil || o.Observed().OmittedBytes < 900_000 {
		t.Errorf("want it left out, got omittedBytes %d, %v", o.Observed().OmittedBytes, err)
	}
	o.Desired().ForProvider.Manifest.Raw = nil
	if err := record(o, sized("v", "1", 900_000), Options{}); err != nil || o.Observed().OmittedBytes != 0 {
		t.Errorf("want it shown, got omittedBytes %d, %v", o.Observed().OmittedBytes, err)
	}
}
