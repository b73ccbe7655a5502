package object

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// parse returns a resource of JSON text.
func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return u
}

const (
	secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"type":"Opaque",
		"data":{"user":"YWRtaW4=","tls.crt":"Y2VydA==","html":"PGE+","empty":""}}`
	binary = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"key":"/w=="}}`
	custom = `{"apiVersion":"example.org/v1","kind":"Secret","metadata":{"name":"s"},"data":{"user":"YWRtaW4="},
		"spec":{"whole":3,"part":1.5,"large":1e21,"yes":true,"nothing":null,` +
		`"list":[{"a":1},"b"],"map":{"b":"<x>","a":[]},"text":"plain"}}`
)

func TestDetailValue(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		u      string
		path   string
		want   string
		err    string
	}{
		"Text":      {reason: "A text is taken as it is.", u: custom, path: "spec.text", want: "plain"},
		"Whole":     {reason: "A whole number has no fraction.", u: custom, path: "spec.whole", want: "3"},
		"Part":      {reason: "Another number is as JSON writes it.", u: custom, path: "spec.part", want: "1.5"},
		"Large":     {reason: "However large it is.", u: custom, path: "spec.large", want: "1e+21"},
		"Boolean":   {reason: "A boolean is a word.", u: custom, path: "spec.yes", want: "true"},
		"Element":   {reason: "Elements of lists have numbers.", u: custom, path: "spec.list[0].a", want: "1"},
		"SecretKey": {reason: "Values of Secrets are decoded.", u: secret, path: "data.user", want: "admin"},
		"SecretDotted": {
			reason: "A key with a dot stands in brackets.",
			u:      secret,
			path:   "data[tls.crt]",
			want:   "cert",
		},
		"SecretEmpty": {reason: "An empty value is a value.", u: secret, path: "data.empty", want: ""},
		"SecretBinary": {
			reason: "A value that is no text is taken by itself.",
			u:      binary,
			path:   "data.key",
			want:   "\xff",
		},
		"SecretMetadata": {reason: "Only data of Secrets are encoded.", u: secret, path: "metadata.name", want: "s"},
		"NoSecret": {
			reason: "A kind of that name in another group is no Secret.",
			u:      custom,
			path:   "data.user",
			want:   "YWRtaW4=",
		},
		// provider-kubernetes gives lists and maps as Go prints them, and cannot give all data of a Secret.
		"List": {reason: "A list is JSON.", u: custom, path: "spec.list", want: `[{"a":1},"b"]`},
		"Map": {
			reason: "A map is JSON, sorted by key.",
			u:      custom,
			path:   "spec.map",
			want:   `{"a":[],"b":"<x>"}`,
		},
		"SecretData": {
			reason: "All data of a Secret are JSON of the decoded values.",
			u:      secret,
			path:   "data",
			want:   `{"empty":"","html":"<a>","tls.crt":"cert","user":"admin"}`,
		},
		"SecretAllBytes": {
			reason: "JSON cannot hold a value that is no text.",
			u:      binary,
			path:   "data",
			err:    `key "key" of field data is not a text, and JSON cannot hold it`,
		},
		"Missing": {
			reason: "A missing field is named.",
			u:      custom,
			path:   "spec.other",
			err:    "there is no field spec.other",
		},
		"Null": {
			reason: "Null is nothing.",
			u:      custom,
			path:   "spec.nothing",
			err:    "there is no field spec.nothing",
		},
		"BelowText": {
			reason: "A text has no fields, and is not told.",
			u:      custom,
			path:   "spec.text.a",
			err:    "there is no field spec.text.a",
		},
		"BehindEnd": {
			reason: "A list has an end.",
			u:      custom,
			path:   "spec.list[7]",
			err:    "there is no field spec.list[7]",
		},
		"Unset": {reason: "A path is needed.", u: custom, path: "", err: "fieldPath is not set"},
		"Malformed": {
			reason: "A path must be one.",
			u:      custom,
			path:   "spec[",
			err:    `fieldPath "spec[" cannot be parsed`,
		},
		"Wildcard": {
			reason: "There is one value for a key.",
			u:      custom,
			path:   "spec.list[*].a",
			err:    "there is no field spec.list[*].a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := parse(t, tc.u)
			got, err := detailValue(u, tc.path)
			if text(err) != tc.err {
				t.Fatalf("%s\nerror: want %q, got %q", tc.reason, tc.err, text(err))
			}
			if string(got) != tc.want {
				t.Errorf("%s\nvalue: want %q, got %q", tc.reason, tc.want, got)
			}
			if diff := cmp.Diff(parse(t, tc.u).Object, u.Object); diff != "" {
				t.Errorf("%s\nthe resource belongs to the watch: -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzValue looks for field paths that panic, or whose error tells a value.
func FuzzDetailValue(f *testing.F) {
	for _, path := range []string{
		"data", "data.user", "data[tls.crt]", "data['user']", "metadata.name", "a[0]", "a[-1]", "a[*]",
		"a[99999999999999999999]", "[", "]", ".", "a..b", "a[", "a[0", "\x00",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, s := range []string{secret, binary, custom} {
			v, err := detailValue(parse(t, s), path)
			if (v == nil) == (err == nil) {
				t.Errorf("%q: want a value or an error, got %q and %v", path, v, err)
			}
			for _, told := range []string{"YWRtaW4=", "admin", "plain"} {
				if err != nil && strings.Contains(err.Error(), told) && !strings.Contains(path, told) {
					t.Errorf("%q: the error tells a value: %v", path, err)
				}
			}
		}
	})
}

// TestDetailsAreBounded shows that the details of an Object take no more memory than a Secret may hold, and that what
// is missing makes a short text: one Object can ask for a megabyte ten thousand times.
func TestDetailsAreBounded(t *testing.T) {
	const details = 64
	settings := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": strings.Repeat("x", 100<<10)},
	}}
	d := &connectionSecret{values: map[string][]byte{}}
	var wanted []commonv1.ConnectionDetail
	found := map[corev1.ObjectReference]*origin{}
	for i := range details {
		w := commonv1.ConnectionDetail{ToConnectionSecretKey: fmt.Sprintf("key-%d", i)}
		w.ObjectReference = corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Name: "settings", FieldPath: "data"}
		found[originOf(w)] = &origin{ref: originOf(w), live: settings}
		wanted = append(wanted, w)
	}
	lacks := d.take(wanted, found)
	size := 0
	for _, v := range d.values {
		size += len(v)
	}
	if size == 0 || size > corev1.MaxSecretSize {
		t.Errorf("values: want some, and at most %d bytes, got %d", corev1.MaxSecretSize, size)
	}
	if len(d.values)+len(d.missing) != details {
		t.Errorf("want the others to be missing, got %d of %d", len(d.missing), details)
	}
	if got := len(strings.Join(lacks, ", ")); got > 1<<10 {
		t.Errorf("what is missing: want a short text, got %d bytes", got)
	}
}
