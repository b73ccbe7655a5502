package objectsync_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// Steps of mutation.
func byRegex(path v1alpha1.MutationPath, pattern, by string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{Regex: &v1alpha1.RegexMutation{Path: path, Pattern: pattern, Replacement: by}}
}

func byTemplate(path v1alpha1.MutationPath, text string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{Template: &v1alpha1.TemplateMutation{Path: path, Template: text}}
}

func byCEL(path v1alpha1.MutationPath, text string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{CEL: &v1alpha1.CELMutation{Path: path, Expression: text}}
}

// withoutNulls returns an object without the fields that are null, which a server may keep or drop.
func withoutNulls(o map[string]any) map[string]any {
	out := maps.Clone(o)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

// unmutated is the spec of the object whose values are mutated.
var unmutated = map[string]any{
	"size": int64(9007199254740993), "replicas": int64(3), "note": `<a href="x">&+</a>`, "list": []any{"x", int64(1)},
	"ref": map[string]any{"apiVersion": "ws.example.com/v1", "kind": "Plain", "name": "web"},
}

var mutatedCases = map[string]struct {
	reason string
	step   v1alpha1.ResourceMutation
	spec   map[string]any // what is different in the spec of the copy
	role   string         // the field beside the spec, if that is different
}{
	"RegexMissing": {
		reason: "A pattern makes nothing where nothing is.",
		step:   byRegex("spec.none", "a*", "b"),
		spec:   nil,
		role:   "",
	},
	"RegexNumber": {
		reason: "A number stays one.",
		step:   byRegex("spec.replicas", "^3$", "4"),
		spec:   map[string]any{"replicas": int64(4)},
		role:   "",
	},
	"RegexLarge": {
		reason: "A large one stays the same.",
		step:   byRegex("spec.size", "^none$", "4"),
		spec:   nil,
		role:   "",
	},
	"RegexOtherField": {
		reason: "The desired state is more than the spec.",
		step:   byRegex("roleRef.name", "^.*$", "changed"),
		spec:   nil,
		role:   "changed",
	},
	"TemplateText": {
		reason: "A text is no HTML.",
		step:   byTemplate("spec.new", `{{ .LocalObject.spec.note }}'`),
		spec:   map[string]any{"new": `<a href="x">&+</a>'`},
		role:   "",
	},
	"TemplateOther": {
		reason: "The other side is the copy.",
		step:   byTemplate("spec.new", "{{ .RemoteObject.apiVersion }}"),
		spec:   map[string]any{"new": "example.org/v1"},
		role:   "",
	},
	"CELMap": {
		reason: "What an expression makes is JSON.",
		step:   byCEL("spec.new", "{'list': [1, 2.5, 'x', true], 'of': {'a': 'b'}}"),
		spec: map[string]any{"new": map[string]any{
			"list": []any{int64(1), 2.5, "x", true}, "of": map[string]any{"a": "b"},
		}},
		role: "",
	},
	"CELList": {
		reason: "So is a list.",
		step:   byCEL("spec.new", "self.spec.list"),
		spec:   map[string]any{"new": []any{"x", int64(1)}},
		role:   "",
	},
	"CELNull": {reason: "Null is none.", step: byCEL("spec.note", "null"), spec: map[string]any{"note": nil}, role: ""},
	"CELWhole": {
		reason: "Whole numbers stay whole.",
		step:   byCEL("spec.size", "value + 2"),
		spec:   map[string]any{"size": int64(9007199254740995)},
		role:   "",
	},
}

// TestMutatedValues shows that a step changes what it is about, be it beside the spec, and makes nothing else of it
// than what it says: no value where there was none, no text of a number, no HTML of a text. What it does not name
// stays, apiVersion and kind of another object included.
func TestMutatedValues(t *testing.T) {
	for name, tc := range mutatedCases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			steps := &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{tc.step}}
			s := w.syncerOf(plains, &v1alpha1.PublishedResourceSpec{Mutation: steps})
			spec := runtime.DeepCopyJSON(unmutated)
			w.create(w.above, objectOf(plains.Workspace, w.input.Object,
				map[string]any{"spec": spec, "roleRef": map[string]any{"name": "x"}}))
			w.mustSync(s, w.input)
			all, err := w.input.Service.Cache(plains.Service.GroupVersionResource).Select(w.cluster,
				labels.Everything())
			if err != nil || len(all) != 1 {
				t.Fatalf("want one copy, got %d, %v", len(all), err)
			}
			want := runtime.DeepCopyJSON(unmutated)
			maps.Copy(want, tc.spec)
			if diff := cmp.Diff(withoutNulls(want), withoutNulls(all[0].Object["spec"].(map[string]any))); diff != "" {
				t.Errorf("%s\nspec: -want, +got:\n%s", tc.reason, diff)
			}
			role, _, _ := unstructured.NestedString(all[0].Object, "roleRef", "name")
			if changed := role != "x"; changed != (tc.role != "") || changed && role != tc.role {
				t.Errorf("%s roleRef: got %q", tc.reason, role)
			}
		})
	}
}

// TestRewrittenReference shows that a reference is followed on both sides: a step that changes it for the service
// cluster is all that has to be said, and the consumer sees nothing of it.
func TestRewrittenReference(t *testing.T) {
	for name, origin := range map[string]v1alpha1.Origin{"Up": v1alpha1.OriginService, "Down": v1alpha1.OriginKCP} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(origin, byReference("spec.secretName"))
			spec.Mutation = &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{byTemplate("spec.secretName",
				"internal-{{ .Value }}")}}
			s := w.syncer(spec)
			w.create(w.above, thing(w.input.Object))
			w.mustSync(s, w.input)
			ns, from, to, at, copyAt := w.input.Object.Namespace, w.below, w.above, w.cluster, w.input.Object.Namespace
			fromName, toName := "internal-tls", "tls"
			if origin == v1alpha1.OriginKCP {
				from, to, at, copyAt, fromName, toName = w.above, w.below, ns, w.cluster, "tls", "internal-tls"
			}
			w.create(from, newSecret(at, fromName, "one"))
			w.mustSync(s, w.input)
			if got := w.secretOf(to, copyAt, toName)["k"]; got != "one" {
				t.Errorf("want the Secret as %s, got %q", toName, got)
			}
			if got := w.secretOf(to, copyAt, fromName); got != nil {
				t.Errorf("want no Secret %s on the other side", fromName)
			}
			if got, _, _ := unstructured.NestedString(w.source(w.input).Object, "spec", "secretName"); got != "tls" {
				t.Errorf("the consumer's own object: got %q", got)
			}
		})
	}
}
