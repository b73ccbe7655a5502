package mutation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// password is a value that no error may tell.
const password = "hunter2"

func object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "Thing",
		"metadata": map[string]any{
			"name": "web", "namespace": "default", "uid": "u", "labels": map[string]any{"a": "b"},
		},
		"spec": map[string]any{
			"secretName": "my-secret", "big": int64(9007199254740993), "replicas": int64(3), "ratio": 1.5,
			"html": "<a> & \"b\" +",
			"on":   true, "list": []any{"x", "y"}, "none": []any{}, "password": password,
			"items": []any{map[string]any{"name": "one", "size": int64(1)}, map[string]any{"name": "two"}},
		},
		"status": map[string]any{"phase": "Ready", "count": int64(2)},
	}}
}

func other() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "hashed"}, "spec": map[string]any{"host": "h"},
	}}
}

func remove(path string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{Delete: &v1alpha1.DeleteMutation{Path: v1alpha1.MutationPath(path)}}
}

func regex(path, pattern, by string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{Regex: &v1alpha1.RegexMutation{
		Path: v1alpha1.MutationPath(path), Pattern: pattern, Replacement: by,
	}}
}

func tpl(path, text string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{Template: &v1alpha1.TemplateMutation{
		Path: v1alpha1.MutationPath(path), Template: text,
	}}
}

func expr(path, text string) v1alpha1.ResourceMutation {
	return v1alpha1.ResourceMutation{CEL: &v1alpha1.CELMutation{Path: v1alpha1.MutationPath(path), Expression: text}}
}

// with returns the object with a field of spec set, or removed if the value is nil.
func with(field string, v any) map[string]any {
	o := object().Object
	spec := o["spec"].(map[string]any)
	if spec[field] = v; v == nil {
		delete(spec, field)
	}
	return o
}

func TestSpec(t *testing.T) {
	type want struct {
		content map[string]any
		err     error
	}
	renamed := []any{map[string]any{"name": "x-one", "size": int64(1)}, map[string]any{"name": "x-two"}}
	for name, tc := range map[string]struct {
		reason string
		steps  []v1alpha1.ResourceMutation
		want   want
	}{
		"Delete": {
			reason: "A value is removed.",
			steps:  []v1alpha1.ResourceMutation{remove("spec.secretName")},
			want:   want{content: with("secretName", nil)},
		},
		"DeleteMissing": {
			reason: "What is missing stays so.",
			steps:  []v1alpha1.ResourceMutation{remove("spec.x.y")},
			want:   want{content: object().Object},
		},
		"DeleteSeveral": {
			reason: "Several values cannot be removed at once.",
			steps:  []v1alpha1.ResourceMutation{remove("spec.items.#.name")},
			want:   want{err: cmpopts.AnyError},
		},
		"Regex": {
			reason: "What matches is replaced.",
			steps:  []v1alpha1.ResourceMutation{regex("spec.secretName", "my-(.+)", "$1-x")},
			want:   want{content: with("secretName", "secret-x")},
		},
		"RegexAll": {
			reason: "Without a pattern all is replaced.",
			steps:  []v1alpha1.ResourceMutation{regex("spec.secretName", "", "all")},
			want:   want{content: with("secretName", "all")},
		},
		// api-syncagent makes what is missing.
		"RegexMissing": {
			reason: "What is missing is not made.",
			steps:  []v1alpha1.ResourceMutation{regex("spec.unknown.deep", "a", "b")},
			want:   want{content: object().Object},
		},
		"RegexNumber": {
			reason: "A number stays a number.",
			steps:  []v1alpha1.ResourceMutation{regex("spec.replicas", "3", "4")},
			want:   want{content: with("replicas", int64(4))},
		},
		"RegexBigNumber": {
			reason: "However large it is.",
			steps:  []v1alpha1.ResourceMutation{regex("spec.big", "nothing", "4")},
			want:   want{content: object().Object},
		},
		"RegexObject": {
			reason: "An object is no text.",
			steps:  []v1alpha1.ResourceMutation{regex("spec", "a", "b")},
			want:   want{err: ErrFailed},
		},
		"RegexSeveral": {
			reason: "Each of several values is changed.",
			steps:  []v1alpha1.ResourceMutation{regex("spec.items.#.name", "^", "x-")},
			want:   want{content: with("items", renamed)},
		},
		"Template": {
			reason: "A template sets a value.",
			steps: []v1alpha1.ResourceMutation{tpl("spec.secretName",
				"{{ .Value.String }}-{{ .LocalObject.metadata.name }}-{{ .RemoteObject.metadata.name }}")},
			want: want{content: with("secretName", "my-secret-web-hashed")},
		},
		"TemplateValue": {
			reason: "The value is a text by itself.",
			steps:  []v1alpha1.ResourceMutation{tpl("spec.secretName", "{{ upper .Value.String }}{{ .Value }}")},
			want:   want{content: with("secretName", "MY-SECRETmy-secret")},
		},
		// api-syncagent escapes texts as for HTML.
		"TemplateText": {
			reason: "A text stays what it is.",
			steps:  []v1alpha1.ResourceMutation{tpl("spec.copy", "{{ .LocalObject.spec.html }}<&>")},
			want:   want{content: with("copy", "<a> & \"b\" +<&>")},
		},
		"TemplateOrder": {
			reason: "A step sees what those before it have made.",
			steps: []v1alpha1.ResourceMutation{
				remove("spec.html"), tpl("spec.new", `{{ hasKey .LocalObject.spec "html" }}`), remove("spec.new"),
			},
			want: want{content: with("html", nil)},
		},
		"CEL": {
			reason: "An expression sets a value.",
			steps: []v1alpha1.ResourceMutation{expr("spec.secretName",
				"value + '-' + self.metadata.name + '-' + other.metadata.name")},
			want: want{content: with("secretName", "my-secret-web-hashed")},
		},
		"CELListSelf": {
			reason: "Also of values of the object.",
			steps:  []v1alpha1.ResourceMutation{expr("spec.list", "self.spec.list.map(x, x + x)")},
			want:   want{content: with("list", []any{"xx", "yy"})},
		},
		"CELWhole": {
			reason: "Whole numbers stay whole.",
			steps:  []v1alpha1.ResourceMutation{expr("spec.new", "self.spec.big + 2")},
			want:   want{content: with("new", int64(9007199254740995))},
		},
		"CELSame": {
			reason: "A value of the object is itself.",
			steps:  []v1alpha1.ResourceMutation{expr("spec.new", "self.spec.items")},
			want:   want{content: with("new", object().Object["spec"].(map[string]any)["items"])},
		},
		"CELMissing": {
			reason: "A missing value is null.",
			steps:  []v1alpha1.ResourceMutation{expr("spec.new", "value == null ? 'x' : value")},
			want:   want{content: with("new", "x")},
		},
		"CELInvalid": {
			reason: "What is not CEL is refused at once.",
			steps:  []v1alpha1.ResourceMutation{expr("spec.new", "value +")},
			want:   want{err: cmpopts.AnyError},
		},
		"None": {reason: "A step does something.", steps: []v1alpha1.ResourceMutation{{}}, want: want{err: cmpopts.AnyError}},
		"Index": {
			reason: "A list is not made as long as one likes.",
			steps:  []v1alpha1.ResourceMutation{tpl("spec.list.999999999", "x")},
			want:   want{err: ErrFailed},
		},
		"RegexLong": {
			reason: "A long text is not searched.",
			steps: []v1alpha1.ResourceMutation{
				expr("spec.secretName", "lists.range(9000).map(i, '<>').join()"), regex("spec.secretName", "a", "b"),
			},
			want: want{err: ErrFailed},
		},
		"RegexMany": {
			reason: "Nor are many.",
			steps: []v1alpha1.ResourceMutation{expr("spec.items",
				"lists.range(40).map(i, {'name': lists.range(4000).map(i, 'x').join()})"), regex("spec.items.#.name", "a", "b")},
			want: want{err: ErrFailed},
		},
		"Labels": {
			reason: "Labels are texts.",
			steps:  []v1alpha1.ResourceMutation{expr("metadata.labels.n", "1")},
			want:   want{err: ErrFailed},
		},
		"NoMetadata": {
			reason: "They are in an object.",
			steps:  []v1alpha1.ResourceMutation{expr("metadata", "'x'")},
			want:   want{err: ErrFailed},
		},
		"LabelsNull": {
			reason: "They can be none.",
			steps:  []v1alpha1.ResourceMutation{expr("metadata.annotations", "null"), remove("metadata.annotations")},
			want:   want{content: object().Object},
		},
		"Modifier": {
			reason: "Modifiers of gjson are not paths.",
			steps:  []v1alpha1.ResourceMutation{tpl("spec|@pretty", "x")},
			want:   want{err: cmpopts.AnyError},
		},
		"Identity": {
			reason: "The identity of an object stays.",
			steps: []v1alpha1.ResourceMutation{
				tpl("metadata.name", "x"), tpl("metadata.namespace", "x"), remove("metadata.uid"), tpl("kind",
					"x"), remove("apiVersion"),
			},
			want: want{content: object().Object},
		},
		"Metadata": {
			reason: "The whole metadata can be removed, and the identity stays.",
			steps:  []v1alpha1.ResourceMutation{remove("metadata"), tpl("metadata.labels.a", "b")},
			want:   want{content: object().Object},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, o := object(), other()
			var got want
			m, err := New(&v1alpha1.ResourceMutations{Spec: tc.steps}, nil)
			if err == nil {
				var out *unstructured.Unstructured
				if out, err = m.Spec(gotemplate.Workspace{}, in, o); out != nil {
					got.content = out.Object
				}
			}
			got.err = err
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff([]any{object().Object, other().Object}, []any{in.Object, o.Object}); diff != "" {
				t.Errorf("Objects are shared with caches: -want, +got:\n%s", diff)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("error tells a value: %v", err)
			}
		})
	}
}
