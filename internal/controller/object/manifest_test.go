package object

import (
	"fmt"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
)

// manifestSeeds are texts of manifests, whole and broken.
var manifestSeeds = []string{
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"n","labels":{"a":"b"}},"data":{"a":"b"}}`,
	`{"apiVersion":"v1","kind":"ConfigMap"}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":null,"data":{"large":9007199254740993,"float":1.5}}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":7,"namespace":true}}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":null}}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"a":1}}}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":"odd"}}`,
	`{"apiVersion":"v1","kind":"List","items":[{"kind":"X"}]}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":["odd"]}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"uid":"u","creationTimestamp":null}}`,
	`{"kind":"X"}`, `{"apiVersion":"v1","data":{"a":"b"}}`, `{"apiVersion":1,"kind":{}}`, `[]`, `null`, `"text"`, `{`, ``,
}

// FuzzManifest shows that any text in place of a manifest is either refused as such, or taken over with a name, with
// our label if we may keep the resource, and otherwise as it is.
func FuzzManifest(f *testing.F) {
	for i, s := range manifestSeeds {
		f.Add([]byte(s), []byte(manifestSeeds[0]), uint8(i))
		f.Add([]byte(s), []byte(s), uint8(i+1))
	}
	f.Fuzz(func(t *testing.T, raw, seen []byte, variant uint8) {
		o := fuzzedObject(raw, seen, variant)
		previews(o)
		identity(o)
		if m := fieldManager(o); len(m) > fieldManagerMax {
			t.Errorf("field manager of Object %q: want at most %d bytes, got %q", o.GetName(), fieldManagerMax, m)
		}
		u, err := manifest(o, nil)
		if err != nil {
			if !errors.Is(err, errInvalidManifest) {
				t.Errorf("error of manifest %q: want one about the manifest, got %v", raw, err)
			}
			if content := string(raw); len(content) > 10 && strings.Contains(err.Error(), content) {
				t.Errorf("error of manifest %q: want none of its content, which may be secret, got %v", raw, err)
			}
			return
		}
		checkTaken(t, o, raw, u)
		checkPlaced(t, u, clusters.Mapping{Namespaced: variant%2 == 0, Readable: true})
		if err := record(o, u, Options{
			SanitizeSecrets: variant%3 == 0, RemoveManagedFields: variant%5 == 0,
		}); err != nil {
			t.Errorf("manifest %q as what was seen: %v", raw, err)
		}
	})
}

// fuzzedObject returns an Object of one of both scopes, with one of several policies, on a dry run or not.
func fuzzedObject(raw, seen []byte, variant uint8) Object {
	policies := []xpv2.ManagementPolicies{
		{xpv2.ManagementActionAll}, {xpv2.ManagementActionObserve}, {
			xpv2.ManagementActionObserve, xpv2.ManagementActionCreate,
		},
	}
	var o Object = &objectv1alpha2.Object{}
	if variant&1 != 0 {
		o = &mobjectv1alpha1.Object{}
	}
	o.SetName("an-object")
	o.SetManagementPolicies(policies[variant>>2%3])
	if variant&2 != 0 {
		o.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"})
	}
	o.Desired().ForProvider.Manifest.Raw = raw
	o.Observed().Manifest.Raw = seen
	return o
}

// checkTaken checks what an Object wants against the text of its manifest.
func checkTaken(t *testing.T, o Object, raw []byte, u *unstructured.Unstructured) {
	t.Helper()
	if u.GetName() == "" || u.GetKind() == "" || u.GetAPIVersion() == "" {
		t.Errorf("manifest %q: want a name, kind and API version, got %v", raw, u.Object)
	}
	value, labelled, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "labels", commonv1.LabelKeyManaged)
	if manages(o) && value != commonv1.LabelValueManaged {
		t.Errorf("manifest %q of an Object that keeps its resource: want our label, got %v", raw, u.Object)
	}
	want := &unstructured.Unstructured{}
	if err := want.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	if _, given, _ := unstructured.NestedFieldNoCopy(want.Object, "metadata", "labels",
		commonv1.LabelKeyManaged); !manages(o) && labelled != given {
		t.Errorf("manifest %q of an Object that does not keep its resource: want its labels, got %v", raw, u.Object)
	}
	if diff := cmp.Diff(bare(want), bare(u)); diff != "" {
		t.Errorf("manifest %q beside name and our label: -want, +got:\n%s", raw, diff)
	}
}

// bare returns the content of a resource without its name, our label, and what holds nothing beside them.
func bare(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	unstructured.RemoveNestedField(u.Object, "metadata", "name")
	unstructured.RemoveNestedField(u.Object, "metadata", "labels", commonv1.LabelKeyManaged)
	for _, path := range [][]string{{"metadata", "labels"}, {"metadata"}} {
		v, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
		if m, ok := v.(map[string]any); v == nil || ok && len(m) == 0 {
			unstructured.RemoveNestedField(u.Object, path...)
		}
	}
	return u.Object
}

// checkPlaced checks what fit makes of a manifest, with regard to namespaces.
func checkPlaced(t *testing.T, u *unstructured.Unstructured, m clusters.Mapping) {
	t.Helper()
	given := u.GetNamespace()
	err := fit(u, m)
	switch {
	case m.Namespaced && given == "":
		if !errors.Is(err, errInvalidManifest) {
			t.Errorf("manifest without a namespace of a namespaced kind: want an error about it, got %v", err)
		}
	case err != nil:
		t.Errorf("place of %v: %v", u.Object, err)
	case m.Namespaced && u.GetNamespace() != given, !m.Namespaced && u.GetNamespace() != "":
		t.Errorf("namespace of a manifest with %q and namespaced %t: got %q", given, m.Namespaced, u.GetNamespace())
	}
}

// TestFieldManager shows that the name of an Object which is too long for a field manager, which has 128 characters at
// most, ends with a hash there, so that Objects are told apart. TestNamesakesShareAResource shows those of other names.
func TestFieldManager(t *testing.T) {
	const most = 128
	o := &mobjectv1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: strings.Repeat("x", most)}}
	plain, own := fieldManager(o), ownFieldManager(o)
	for _, got := range []string{plain, own} {
		if !strings.HasPrefix(got, "provider-kubernetes/xxx") || len(got) > most {
			t.Errorf("want at most %d characters that begin with the name, got %s", most, got)
		}
	}
	o.Name += "y"
	if other := fieldManager(o); plain == own || plain == other {
		t.Errorf("want managers of their own, got %s, %s and %s", plain, own, other)
	}
}

// TestPrecedes shows to which of two Objects of one name the field manager of that name belongs: to who has applied
// with it, to who may have before a takeover, and to the oldest. If they are as old, both come to the same result.
func TestPrecedes(t *testing.T) {
	const uid, elsewhere types.UID = "resource", "another"
	object := func(name types.UID, age time.Duration, seen types.UID, applied *commonv1.AppliedRecord) Object {
		o := &mobjectv1alpha1.Object{ObjectMeta: metav1.ObjectMeta{
			UID: name, CreationTimestamp: metav1.NewTime(time.Unix(0, 0).Add(-age)),
		}}
		o.Status.AtProvider.Manifest.Raw = []byte(`{"metadata":{"name":"settings","uid":"` + seen + `"}}`)
		o.Status.AtProvider.Applied = applied
		return o
	}
	plain, own := &commonv1.AppliedRecord{}, &commonv1.AppliedRecord{FieldManager: "provider-kubernetes/app@team"}
	for name, tc := range map[string]struct {
		a, b Object
		want bool
	}{
		"AppliedBeforeSeen": {a: object("a", 0, uid, plain), b: object("b", time.Hour, uid, nil), want: true},
		"SeenBeforeNew":     {a: object("a", 0, uid, nil), b: object("b", time.Hour, "", nil), want: true},
		"Older":             {a: object("a", time.Hour, uid, nil), b: object("b", 0, uid, nil), want: true},
		"SameAge":           {a: object("a", 0, uid, plain), b: object("b", 0, uid, plain), want: true},
		// Who has a name of its own, or is at a resource of that name on another cluster, has no claim.
		"ToldApart": {a: object("a", time.Hour, uid, own), b: object("b", 0, uid, nil)},
		"Elsewhere": {a: object("a", time.Hour, elsewhere, plain), b: object("b", 0, "", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := precedes(tc.a, tc.b, uid); got != tc.want || got && precedes(tc.b, tc.a, uid) {
				t.Errorf("want %t, and not each to precede the other, got %t", tc.want, got)
			}
		})
	}
}

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
		"data":{"user":"YWRtaW4=","tls.crt":"Y2VydA==","empty":""}}`
	binary = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"key":"/w=="}}`
	custom = `{"apiVersion":"example.org/v1","kind":"Secret","metadata":{"name":"s"},"data":{"user":"YWRtaW4="},
		"spec":{"whole":3,"part":1.5,"large":1e21,"yes":true,"nothing":null,` +
		`"list":[{"a":1},"b"],"map":{"b":"x","a":[]},"text":"plain"}}`
)

// TestDetailValue shows what value a field path leads to, and that a fault tells none.
func TestDetailValue(t *testing.T) {
	for name, tc := range map[string]struct{ u, path, want, err string }{
		"Text":    {u: custom, path: "spec.text", want: "plain"},
		"Whole":   {u: custom, path: "spec.whole", want: "3"},
		"Part":    {u: custom, path: "spec.part", want: "1.5"},
		"Large":   {u: custom, path: "spec.large", want: "1e+21"},
		"Boolean": {u: custom, path: "spec.yes", want: "true"},
		"Element": {u: custom, path: "spec.list[0].a", want: "1"},
		// provider-kubernetes gives lists and maps as Go prints them.
		"List":      {u: custom, path: "spec.list", want: `[{"a":1},"b"]`},
		"SortedMap": {u: custom, path: "spec.map", want: `{"a":[],"b":"x"}`},
		// Data of Secrets are decoded, and those of no other kind.
		"SecretKey":       {u: secret, path: "data.user", want: "admin"},
		"SecretDottedKey": {u: secret, path: "data[tls.crt]", want: "cert"},
		"SecretEmpty":     {u: secret, path: "data.empty", want: ""},
		"SecretBinary":    {u: binary, path: "data.key", want: "\xff"},
		"SecretMetadata":  {u: secret, path: "metadata.name", want: "s"},
		"SecretOfOthers":  {u: custom, path: "data.user", want: "YWRtaW4="},
		"SecretData":      {u: secret, path: "data", err: "field data is not base64"},
		"Missing":         {u: custom, path: "spec.other", err: "there is no field spec.other"},
		"Null":            {u: custom, path: "spec.nothing", err: "there is no field spec.nothing"},
		"BelowText":       {u: custom, path: "spec.text.a", err: "there is no field spec.text.a"},
		"BehindEnd":       {u: custom, path: "spec.list[7]", err: "there is no field spec.list[7]"},
		"Wildcard":        {u: custom, path: "spec.list[*].a", err: "there is no field spec.list[*].a"},
		"Unset":           {u: custom, path: "", err: "fieldPath is not set"},
		"Malformed":       {u: custom, path: "spec[", err: `fieldPath "spec[" cannot be parsed`},
	} {
		t.Run(name, func(t *testing.T) {
			u := parse(t, tc.u)
			got, err := detailValue(u, tc.path)
			fault := ""
			if err != nil {
				fault = err.Error()
			}
			if string(got) != tc.want || fault != tc.err {
				t.Errorf("want %q and error %q, got %q and %q", tc.want, tc.err, got, fault)
			}
			if diff := cmp.Diff(parse(t, tc.u).Object, u.Object); diff != "" {
				t.Errorf("the resource belongs to the watch: -before, +after:\n%s", diff)
			}
		})
	}
}

// FuzzDetailValue looks for field paths that panic, or whose error tells a value.
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
	if got := len(managedadapter.Some(lacks, lacksMost, ", ")); got > 1<<10 {
		t.Errorf("what is missing: want a short text, got %d bytes", got)
	}
}
