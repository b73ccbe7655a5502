package diff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// resource returns the resource of a JSON text, nil if that is empty.
func resource(t *testing.T, s string) *unstructured.Unstructured {
	t.Helper()
	if s == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal([]byte(s), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestOf(t *testing.T) {
	const secret = `"apiVersion":"v1","kind":"Secret"`
	for name, tc := range map[string]struct {
		reason  string
		live    string
		wanted  string
		want    []string
		summary string
	}{
		"Equal": {
			reason: "What each write changes, the label of ours and status do not count.",
			live: `{"metadata":{"name":"x","resourceVersion":"1","generation":1,"managedFields":[{}],` +
				`"labels":{"kubernetes.crossplane.io/managed":"true"}},"status":{"a":1}}`,
			wanted: `{"metadata":{"name":"x","resourceVersion":"2","generation":2,"uid":"u","labels":null}}`,
		},
		"OwnLabels": {
			reason: "Any other label counts.",
			live:   `{"metadata":{"labels":{"kubernetes.crossplane.io/managed":"true"}}}`,
			wanted: `{"metadata":{"labels":{"a":"b"}}}`,
			want:   []string{`add /metadata/labels {"a":"b"}`}, summary: "metadata.labels",
		},
		"Missing": {
			reason: "What does not exist is added as a whole.",
			wanted: `{"kind":"X","data":{"a":"b"}}`, want: []string{`add  {"data":{"a":"b"},"kind":"X"}`},
		},
		"Keys": {
			reason:  "Keys are escaped in pointers and bracketed in paths.",
			live:    `{"metadata":{"annotations":{"example.org/a":"1","~":"1"}}}`,
			wanted:  `{"metadata":{"annotations":{"example.org/a":"2"}}}`,
			want:    []string{`replace /metadata/annotations/example.org~1a "2"`, `remove /metadata/annotations/~0`},
			summary: "metadata.annotations.~, metadata.annotations[example.org/a]",
		},
		"Lists": {
			reason: "Items are removed from the last to the first, and indices count as numbers.",
			live:   `{"l":[{"a":1,"b":1},2,3,4,5,6,7,8,9,10,11,12]}`, wanted: `{"l":[{"b":2,"a":2},2,0,4,5,6,7,8,9]}`,
			want: []string{
				`replace /l/0/a 2`, `replace /l/0/b 2`, `replace /l/2 0`, `remove /l/11`, `remove /l/10`, `remove /l/9`,
			},
			summary: "l[0].a, l[0].b, l[10], l[11], l[2], l[9]",
		},
		"Numbers": {
			reason: "Large integers stay exact.",
			live:   `{"n":9007199254740993}`, wanted: `{"n":9007199254740994}`,
			want: []string{`replace /n 9007199254740994`}, summary: "n",
		},
		"Secret": {
			reason: "Values of Secrets are masked, and it shows which change.",
			live:   `{` + secret + `,"data":{"a":"YQ==","b":"Yg==","c":"Yw=="},"type":"Opaque"}`,
			wanted: `{` + secret + `,"data":{"a":"eA==","b":"Yg==","d":"ZA=="},"type":"x"}`,
			want: []string{
				`replace /data/a "*** (after)"`, `remove /data/c`, `add /data/d "***"`, `replace /type "x"`,
			},
			summary: "data.a, data.c, data.d, type",
		},
		"SecretMissing": {
			reason: "So are those of a Secret that would be made.",
			wanted: `{` + secret + `,"stringData":{"a":"x"},"data":{"b":"eA=="}}`,
			want:   []string{`add  {"apiVersion":"v1","data":{"b":"***"},"kind":"Secret","stringData":{"a":"***"}}`},
		},
		"SecretWithoutData": {
			reason: "A whole map of values is masked one by one.",
			live:   `{` + secret + `}`, wanted: `{` + secret + `,"data":{"b":"eA=="}}`,
			want: []string{`add /data {"b":"***"}`}, summary: "data",
		},
		"SecretOddData": {
			reason: "What should be a map of values is masked as one.",
			live:   `{` + secret + `,"data":["x"]}`, wanted: `{` + secret + `,"data":["y"]}`,
			want: []string{`replace /data "*** (after)"`}, summary: "data",
		},
		"LastApplied": {
			reason:  "The copy that kubectl keeps in an annotation is masked, of any kind.",
			live:    `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"x"}}}`,
			wanted:  `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"y"}}}`,
			want:    []string{`replace /metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration "*** (after)"`},
			summary: "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
		},
		"NestedSecret": {
			reason: "A Secret in the manifest of an Object is one.",
			live:   `{"spec":{"manifest":{` + secret + `,"data":{"a":"x"}}}}`,
			wanted: `{"spec":{"manifest":{` + secret + `,"data":{"a":"y"}}}}`,
			want:   []string{`replace /spec/manifest/data/a "*** (after)"`}, summary: "spec.manifest.data.a",
		},
		"NoMoreSecret": {
			reason: "What was a Secret, or becomes one, is one: its values are no less secret for that.",
			live:   `{"s":{` + secret + `,"data":{"a":"x"}},"t":{"data":{"a":"x"}}}`,
			wanted: `{"s":{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"y"}},"t":{` + secret +
				`,"data":{"a":"y"}}}`,
			want: []string{
				`replace /s/data/a "*** (after)"`, `replace /s/kind "ConfigMap"`,
				`add /t/apiVersion "v1"`, `replace /t/data/a "*** (after)"`, `add /t/kind "Secret"`,
			},
			summary: "s.data.a, s.kind, t.apiVersion, t.data.a, t.kind",
		},
		"Namesake": {
			reason: "A kind of that name in another group is none.",
			live:   `{"apiVersion":"example.org/v1","kind":"Secret","data":{"a":"x"}}`,
			wanted: `{"apiVersion":"example.org/v1","kind":"Secret","data":{"a":"y"}}`,
			want:   []string{`replace /data/a "y"`}, summary: "data.a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := &unstructured.Unstructured{Object: map[string]any{}}
			ops := mustOf(t, Essence(resource(t, tc.live), manifest), Essence(resource(t, tc.wanted), manifest))
			var got []string
			for _, op := range ops {
				line := op.Op + " " + op.Path
				if op.Value != nil {
					line += " " + string(op.Value.Raw)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nOf: -want, +got:\n%s", tc.reason, diff)
			}
			if tc.live == "" {
				return
			}
			if diff := cmp.Diff(tc.summary, Summary(ops)); diff != "" {
				t.Errorf("%s\nSummary: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestEssenceKeepsStatusOfManifest(t *testing.T) {
	u := resource(t, `{"metadata":{"name":"x"},"status":{"a":1}}`)
	if got := Essence(u, u); got["status"] == nil {
		t.Errorf("status of a manifest that has one: want it, got %v", got)
	}
	before := u.DeepCopy()
	Essence(u, u)["metadata"].(map[string]any)["name"] = "y"
	if diff := cmp.Diff(before, u); diff != "" {
		t.Errorf("a resource whose essence was changed: -want, +got:\n%s", diff)
	}
}

// many returns operations on n fields, with values of some bytes.
func many(t *testing.T, n, size int) []commonv1.DiffOperation {
	t.Helper()
	var ops []commonv1.DiffOperation
	for i := range n {
		ops = append(ops, commonv1.DiffOperation{
			Op: "add", Path: fmt.Sprintf("/data/key-%06d", i), Value: encode(strings.Repeat("x", size)),
		})
	}
	return ops
}

func TestSummaryIsBounded(t *testing.T) {
	got := Summary(many(t, 1000, 1))
	if len(got) > summaryBytes+len(" and 1000 more") || !strings.HasSuffix(got, " more") ||
		!strings.HasPrefix(got, "data.key-000000, data.key-000001, ") {
		t.Errorf("summary of 1000 fields: want the first and how many there are beside, got %d bytes: %s", len(got),
			got)
	}
	long := commonv1.DiffOperation{Op: "remove", Path: "/" + strings.Repeat("x", 2*summaryBytes)}
	if got := Summary([]commonv1.DiffOperation{long}); got != "1 more" {
		t.Errorf("summary of a field with a long name: want 1 more, got %q", got)
	}
}

func TestLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		n      int
		size   int
		whole  int
		cut    int
	}{
		"Small": {reason: "What fits stays as it is.", n: 10, size: 100, whole: 10},
		"Long": {
			reason: "A value that does not fit gives way to its length, and others stay.",
			n:      1,
			size:   patchBytes,
			cut:    1,
		},
		"Many": {
			reason: "Later values are cut, and what does not fit even so is left out.",
			n:      1000,
			size:   1000,
			whole:  32,
			cut:    4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ops := many(t, tc.n, tc.size)
			got, size, whole := Limit(ops), 0, 0
			for i, op := range got {
				size += len(op.Path) + len(op.Value.Raw)
				if string(op.Value.Raw) == string(ops[i].Value.Raw) {
					whole++
				}
			}
			if size > patchBytes {
				t.Errorf("%s\nsize: want at most %d, got %d", tc.reason, patchBytes, size)
			}
			if whole != tc.whole || len(got)-whole != tc.cut {
				t.Errorf("%s\nwant %d values and %d cut, got %d and %d", tc.reason, tc.whole, tc.cut, whole,
					len(got)-whole)
			}
		})
	}
}
