package object

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

// TestRecord shows what of a resource a status shows.
func TestRecord(t *testing.T) {
	const (
		metadata = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","resourceVersion":"7","labels":{"a":"b"},`
		fields   = `"managedFields":[{"manager":"m"}],`
		applied  = `"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":\"aHVudGVyMg==\"}"`
		secret   = metadata + fields + `"annotations":{"x":"y",` + applied + `}},"data":{"password":"aHVudGVyMg=="}}`
		redacted = `"annotations":{"x":"y"}},"data":{"redacted":null}}`

		config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"7",` + fields +
			`"annotations":{` + applied + `}},"data":{"a":"b"}}`
		bare = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"7",` +
			`"annotations":{` + applied + `}},"data":{"a":"b"}}`
		custom = `{"apiVersion":"example.org/v1","kind":"Secret","metadata":{"name":"c"},"data":{"a":"b"}}`
		text   = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"password":"hunter2"}}`
	)
	sanitize, without := Options{SanitizeSecrets: true}, Options{RemoveManagedFields: true}
	for name, tc := range map[string]struct {
		was     string // empty if nothing was recorded
		live    string
		options Options
		want    string
	}{
		"AsItIs": {live: secret, want: secret},
		// Neither the data of a Secret are shown nor the annotation that repeats them, nor what is no base64.
		"Sanitized": {live: secret, options: sanitize, want: metadata + fields + redacted},
		"SanitizedText": {
			live: text, options: sanitize, want: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},` +
				`"stringData":{"redacted":null},"data":{"redacted":null}}`,
		},
		"SanitizedAfterwards": {
			was: secret, live: secret, options: Options{SanitizeSecrets: true, RemoveManagedFields: true},
			want: metadata + redacted,
		},
		"SanitizeNoOther":       {live: config, options: sanitize, want: config},
		"SanitizeNoNamesake":    {live: custom, options: sanitize, want: custom},
		"WithoutManagedFields":  {live: config, options: without, want: bare},
		"ManagedFieldsRecorded": {was: config, live: config, options: without, want: bare},
		// Another resource version alone is not worth a write.
		"SameEssence": {
			was: config, live: strings.NewReplacer(`"7"`, `"8"`, `"m"`, `"n"`).Replace(config), want: config,
		},
		"Changed": {was: config, live: custom, want: custom},
	} {
		t.Run(name, func(t *testing.T) {
			o := &objectv1alpha2.Object{}
			o.Observed().Manifest.Raw = []byte(tc.was)
			live := parse(t, tc.live)
			if err := record(o, live, tc.options); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tc.want), parse(t, string(o.Observed().Manifest.Raw))); diff != "" {
				t.Errorf("status.atProvider.manifest: -want, +got:\n%s", diff)
			}
			if diff := cmp.Diff(parse(t, tc.live), live); diff != "" {
				t.Errorf("the resource belongs to the watch: -before, +after:\n%s", diff)
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
// is no smaller, whatever its version, that nothing changes in the status then, and that it is shown again when it has
// shrunk or is another one.
func TestOmit(t *testing.T) {
	const identity = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"n","uid":"u"}}`
	for name, tc := range map[string]struct {
		later *unstructured.Unstructured
		shown bool
	}{
		"Same":    {later: sized("u", "1", 1000)},
		"Version": {later: sized("u", "123456", 1000)},
		"Larger":  {later: sized("u", "2", 5000)},
		"Huge":    {later: sized("u", "2", 5_000_000)},
		"Smaller": {later: sized("u", "2", 500), shown: true},
		"Other":   {later: sized("v", "2", 1000), shown: true},
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
				t.Errorf("want shown %t, got omittedBytes %d", tc.shown, o.Observed().OmittedBytes)
			}
			if diff := cmp.Diff(before, *o.Observed()); !tc.shown && diff != "" {
				t.Errorf("status.atProvider: -before, +after:\n%s", diff)
			}
		})
	}
}

// TestOnlySeen shows which changes of a status may wait: what the resource contains and why it is not ready, and what a
// deleted Object waits for.
func TestOnlySeen(t *testing.T) {
	const (
		identity = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"b","uid":"c"`
		seen     = identity + `},"data":{"d":"e"}}`
		changed  = identity + `},"data":{"d":"f"}}`
		another  = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"b","uid":"d"},"data":{"d":"e"}}`
		ending   = identity + `,"deletionTimestamp":"2026-01-02T03:04:05Z"}}`
	)
	show := func(raw string) func(Object) {
		return func(o Object) { o.Observed().Manifest.Raw = []byte(raw) }
	}
	say := func(c ...xpv2.Condition) func(Object) { return func(o Object) { o.SetConditions(c...) } }
	deleted := func(change func(Object)) func(Object) {
		return func(o Object) { change(o); o.SetDeletionTimestamp(new(metav1.Now())) }
	}
	unready := xpv2.Unavailable().WithMessage("1 of 3").WithObservedGeneration(1)
	for name, tc := range map[string]struct {
		change func(Object)
		want   bool
	}{
		"Content":       {change: show(changed), want: true},
		"WhyNotReady":   {change: say(unready.WithMessage("2 of 3")), want: true},
		"WaitsToGo":     {change: deleted(say(xpv2.Deleting(), xpv2.ReconcileSuccess())), want: true},
		"Ready":         {change: say(xpv2.Available())},
		"OfGeneration":  {change: say(unready.WithObservedGeneration(2))},
		"Synced":        {change: say(xpv2.ReconcileSuccess())},
		"First":         {change: show("")},
		"Another":       {change: show(another)},
		"ResourceEnds":  {change: show(ending)},
		"ContentAtEnd":  {change: deleted(show(changed))},
		"CannotGo":      {change: deleted(say(xpv2.Deleting(), xpv2.ReconcileError(errors.New("no"))))},
		"NotShownWhole": {change: func(o Object) { show(changed)(o); o.Observed().OmittedBytes = 7 }},
		// Nothing else knows what was applied, and what is kept for the Object.
		"Applied": {change: func(o Object) { o.Observed().Applied = &commonv1.AppliedRecord{ManifestHash: "h"} }},
		"Pinned":  {change: func(o Object) { o.Observed().References = []commonv1.PinnedReference{{UID: "x"}} }},
	} {
		t.Run(name, func(t *testing.T) {
			was := &mobjectv1alpha1.Object{}
			show(seen)(was)
			was.SetConditions(unready)
			is := was.DeepCopy()
			tc.change(is)
			if got := onlySeen(was, is); got != tc.want {
				t.Errorf("may wait: want %t, got %t", tc.want, got)
			}
		})
	}
}
