package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// resource returns the resource of a JSON text, nil if that is empty.
func resource(t *testing.T, s string) (content map[string]any) {
	t.Helper()
	if s == "" {
		return nil
	}
	if err := utiljson.Unmarshal([]byte(s), &content); err != nil {
		t.Fatal(err)
	}
	return content
}

func TestOf(t *testing.T) {
	const secret = `"apiVersion":"v1","kind":"Secret"`
	for name, tc := range map[string]struct {
		reason  string
		live    string
		wanted  string
		secret  []string
		want    []string
		summary string
	}{
		"Equal": {
			reason: "A field that is null counts as one that is not there.",
			live:   `{"metadata":{"name":"x","labels":{"a":null}}}`, wanted: `{"metadata":{"name":"x","labels":{}},"data":null}`,
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
			summary: "metadata.annotations[example.org/a], metadata.annotations.~",
		},
		"Lists": {
			reason: "Items are compared one by one.",
			live:   `{"l":[{"a":1,"b":1},2,[3]]}`, wanted: `{"l":[{"b":2,"a":2},2,[0]]}`,
			want:    []string{`replace /l/0/a 2`, `replace /l/0/b 2`, `replace /l/2/0 0`},
			summary: "l[0].a, l[0].b, l[2][0]",
		},
		"Lengths": {
			reason: "A list that gets longer or shorter differs as a whole.",
			live:   `{"l":[1,2]}`, wanted: `{"l":[2]}`, want: []string{`replace /l [2]`}, summary: "l",
		},
		"Numbers": {
			reason: "Large integers stay exact.",
			live:   `{"n":9007199254740993}`, wanted: `{"n":9007199254740994}`,
			want: []string{`replace /n 9007199254740994`}, summary: "n",
		},
		"Secret": {
			reason: "Values of Secrets are masked, and operations tell which change.",
			live:   `{` + secret + `,"data":{"a":"YQ==","b":"Yg==","c":"Yw=="},"type":"Opaque"}`,
			wanted: `{` + secret + `,"data":{"a":"eA==","b":"Yg==","d":"ZA=="},"type":"x"}`,
			want: []string{
				`replace /data/a "***"`, `remove /data/c`, `add /data/d "***"`, `replace /type "x"`,
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
			reason: "So is what should be a map of values.",
			live:   `{` + secret + `,"data":["x"]}`, wanted: `{` + secret + `,"data":["y"]}`,
			want: []string{`replace /data/0 "***"`}, summary: "data[0]",
		},
		"LastApplied": {
			reason:  "The copy that kubectl keeps in an annotation is masked, of any kind.",
			live:    `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"x"}}}`,
			wanted:  `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"y"}}}`,
			want:    []string{`replace /metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration "***"`},
			summary: "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
		},
		"NestedSecret": {
			reason: "A Secret in the manifest of an Object is one.",
			live:   `{"spec":{"manifest":{` + secret + `,"data":{"a":"x"}}}}`,
			wanted: `{"spec":{"manifest":{` + secret + `,"data":{"a":"y"}}}}`,
			want:   []string{`replace /spec/manifest/data/a "***"`}, summary: "spec.manifest.data.a",
		},
		"NoMoreSecret": {
			reason: "What was a Secret, or becomes one, is one: its values are no less secret for that.",
			live:   `{"s":{` + secret + `,"data":{"a":"x"}},"t":{"data":{"a":"x"}}}`,
			wanted: `{"s":{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"y"}},"t":{` + secret +
				`,"data":{"a":"y"}}}`,
			want: []string{
				`replace /s/data/a "***"`, `replace /s/kind "ConfigMap"`,
				`add /t/apiVersion "v1"`, `replace /t/data/a "***"`, `add /t/kind "Secret"`,
			},
			summary: "s.data.a, s.kind, t.apiVersion, t.data.a, t.kind",
		},
		"ValueOfReference": {
			reason: "Fields into which references write values of Secrets are masked, and those alone.",
			live:   `{"data":{"a.b":"x","c":"1"},"m":{"k":"x"}}`, wanted: `{"data":{"a.b":"y","c":"2"},"m":{"k":"y"}}`,
			secret: []string{"data[a.b]", "m"},
			want:   []string{`replace /data/a.b "***"`, `replace /data/c "2"`, `replace /m/k "***"`}, summary: "data[a.b], data.c, m.k",
		},
		"ValueOfReferenceInList": {
			reason: "A server may order a list anew, so that all of it is.",
			live:   `{"l":[{"v":"x"},{"v":"y"}]}`, wanted: `{"l":[{"v":"x"},{"v":"z"},{"v":"y"}]}`, secret: []string{"l[1].v"},
			want: []string{`replace /l [{"v":"***"},{"v":"***"},{"v":"***"}]`}, summary: "l",
		},
		"ValueOfReferenceMissing": {
			reason: "So are they in a resource that would be made.",
			wanted: `{"data":{"a":"x","b":"1"}}`, secret: []string{"data.a"}, want: []string{`add  {"data":{"a":"***","b":"1"}}`},
		},
		"UnknownFieldOfReference": {
			reason: "A field that cannot be told masks everything.",
			wanted: `{"data":{"a":"x"}}`, secret: []string{"data[a"}, want: []string{`add  {"data":{"a":"***"}}`},
		},
		"Namesake": {
			reason: "A kind of that name in another group is none.",
			live:   `{"apiVersion":"example.org/v1","kind":"Secret","data":{"a":"x"}}`,
			wanted: `{"apiVersion":"example.org/v1","kind":"Secret","data":{"a":"y"}}`,
			want:   []string{`replace /data/a "y"`}, summary: "data.a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ops := Of(resource(t, tc.live), resource(t, tc.wanted), tc.secret...)
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

func TestLimit(t *testing.T) {
	var ops []commonv1.DiffOperation
	for range 40 {
		ops = append(ops, commonv1.DiffOperation{Op: "add", Path: "/data/key", Value: encode(strings.Repeat("x", 1000))})
	}
	if got := Limit(ops); len(got) != patchBytes/(1000+len(`/data/key""`)) {
		t.Errorf("of %d operations: want what fits, got %d", len(ops), len(got))
	}
	if got := Limit(ops[:10]); len(got) != 10 {
		t.Errorf("of 10 operations: want all, got %d", len(got))
	}
}
