package diff

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// seeds are pairs of states of a resource.
var seeds = [][2]string{
	{`{}`, `{}`},
	{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"2","b":"~/"}}`,
	},
	{
		`{"apiVersion":"v1","kind":"Secret","data":{"a":"aHVudGVyMg=="}}`,
		`{"apiVersion":"v1","kind":"Secret","data":{"a":"c3dvcmRmaXNo"},"stringData":{"b":"swordfish"}}`,
	},
	{
		`{"apiVersion":"v1","kind":"Secret","data":"swordfish"}`,
		`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":["swordfish"]}}`,
	},
	{`{"spec":{"list":[{"a":1},{"b":[1,2,3]},3,4]}}`, `{"spec":{"list":[{"a":2,"c":0},{"b":[3]}]}}`},
	{`{"spec":{"list":[1,2,3,4,5,6,7,8,9,10,11,12]}}`, `{"spec":{"list":[1],"10":{"a/b":"c"},"":{"":1}}}`},
	{`{"m":{"1":1,"2":2,"10":10}}`, `{"m":{"2":3}}`},
	{
		`{"items":[{"apiVersion":"v1","kind":"Secret","data":{"a":"aHVudGVyMg=="}}]}`,
		`{"items":[{"apiVersion":"v1","kind":"Secret","data":{"a":0}},` +
			`{"apiVersion":"v1","kind":"Secret","data":{"a":{"b":"c3dvcmRmaXNo"}}}]}`,
	},
	{
		`{"metadata":{"labels":{"a":"b"},` +
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":\"swordfish\"}"}}}`,
		`{"metadata":{"labels":"odd"}}`,
	},
	{`{"status":{"a":1},"metadata":"odd"}`, `{"status":{"a":2}}`},
}

// parse returns a resource in the form in which each number has one type, nil if the text is no JSON object, or has a
// field that is null.
func parse(text []byte) map[string]any {
	var m, again map[string]any
	if utiljson.Unmarshal(text, &m) != nil || m == nil || bytes.Contains(text, []byte("null")) {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil || utiljson.Unmarshal(b, &again) != nil {
		return nil
	}
	return again
}

// FuzzPatch shows that the operations, applied in turn, make the wanted state of the live one, and that there are none
// if the states are equal.
func FuzzPatch(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s[0]), []byte(s[1]))
		f.Add([]byte(s[1]), []byte(s[0]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		live, wanted := parse(a), parse(b)
		if live == nil || wanted == nil {
			return
		}
		ops := Of(live, wanted)
		if (len(ops) == 0) != cmp.Equal(live, wanted) {
			t.Errorf("operations between %s and %s: %s", text(t, live), text(t, wanted), text(t, ops))
		}
		if strings.Contains(text(t, ops), Masked) {
			return
		}
		if got, want := applyTo(t, live, ops), text(t, wanted); !jsonpatch.Equal([]byte(got), []byte(want)) {
			t.Errorf("live resource with %s applied: want %s, got %s", text(t, ops), want, got)
		}
	})
}

// FuzzMask shows that no value of a Secret comes out of a comparison, whatever the resources look like around it.
func FuzzMask(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s[0]), []byte(s[1]), "hunter2", "swordfish", uint8(i))
		f.Add([]byte(s[1]), []byte(s[0]), "hunter2", "hunter2", uint8(i))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, was, is string, where uint8) {
		live, wanted := parse(a), parse(b)
		if live == nil || wanted == nil {
			return
		}
		// Values that cannot come from elsewhere, and are part of no other.
		was, is = "(secret-"+hex.EncodeToString([]byte(was))+")", "(secret-"+hex.EncodeToString([]byte(is))+")"
		insert(live, was, where)
		insert(wanted, is, where)
		for _, ops := range [][]commonv1.DiffOperation{
			Of(live, wanted), Of(wanted, live), Of(nil, wanted),
		} {
			out := text(t, ops) + Summary(ops)
			for _, secret := range slices.Concat(secrets(live), secrets(wanted), []string{was, is}) {
				if strings.Contains(out, secret) && !strings.Contains(visible(t, live)+visible(t, wanted), secret) {
					t.Errorf("%q of a Secret is in what tells %s from %s: %s", secret, text(t, live), text(t, wanted),
						out)
				}
			}
		}
	})
}

// insert makes a resource hold a Secret with a value, at one of some places.
func insert(m map[string]any, value string, where uint8) {
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"k": value}}
	switch where % 5 {
	case 0:
		m["apiVersion"], m["kind"], m["data"] = "v1", "Secret", secret["data"]
	case 1:
		m["apiVersion"], m["kind"], m["stringData"] = "v1", "Secret", []any{map[string]any{"odd": value}}
	case 2:
		m["spec"] = map[string]any{"forProvider": map[string]any{"manifest": secret}}
	case 3:
		m["items"] = []any{secret, secret}
	case 4:
		m["metadata"] = map[string]any{"annotations": map[string]any{corev1.LastAppliedConfigAnnotation: value}}
	}
}

// secrets returns the values of Secrets in a resource that are long enough not to be found by chance.
func secrets(m map[string]any) []string {
	_, hidden := public(m)
	return slices.DeleteFunc(hidden, func(s string) bool { return len(s) < 6 })
}

// visible returns a resource as text, without the values of Secrets.
func visible(t *testing.T, m map[string]any) string {
	t.Helper()
	shown, _ := public(m)
	return text(t, shown)
}

// public returns what is left of a value without the values of Secrets, and the strings in those.
func public(v any) (shown any, hidden []string) {
	keep := func(item any) any {
		s, h := public(item)
		hidden = append(hidden, h...)
		return s
	}
	switch v := v.(type) {
	case []any:
		list := make([]any, 0, len(v))
		for _, item := range v {
			list = append(list, keep(item))
		}
		return list, hidden
	case map[string]any:
		secret := v["apiVersion"] == "v1" && v["kind"] == "Secret"
		out := map[string]any{}
		for k, item := range v {
			data, _ := item.(map[string]any)
			switch {
			case secret && (k == "data" || k == "stringData"):
				hidden = append(hidden, texts(item)...)
				out[k] = slices.Collect(maps.Keys(data)) // The names of values are no secrets.
			case k == corev1.LastAppliedConfigAnnotation:
				hidden = append(hidden, texts(item)...)
			default:
				out[k] = keep(item)
			}
		}
		return out, hidden
	}
	return v, nil
}

// texts returns the strings in a value.
func texts(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, item := range v {
			out = append(out, texts(item)...)
		}
	case map[string]any:
		for _, item := range v {
			out = append(out, texts(item)...)
		}
	}
	return out
}

// applyTo returns a document with operations applied by a library that had no part in making them.
func applyTo(t *testing.T, doc any, ops []commonv1.DiffOperation) string {
	t.Helper()
	if len(ops) == 0 {
		return text(t, doc)
	}
	patch, err := jsonpatch.DecodePatch([]byte(text(t, ops)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := patch.Apply([]byte(text(t, doc)))
	if err != nil {
		t.Fatalf("cannot apply %s to %s: %v", text(t, ops), text(t, doc), err)
	}
	return string(got)
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
