package reference

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

// told returns what references say, each as where it stands, the version and kind, whom it names, what it reads and
// writes, and what it waits for.
func told(refs []Reference) string {
	var all []string
	for _, r := range refs {
		text := fmt.Sprint(r.Err)
		if r.Err == nil {
			version, kind := r.GVK.ToAPIVersionAndKind()
			text = fmt.Sprintf("%s: %s %s %s[%s] %s>%s %s", strings.TrimPrefix(r.At, "spec.references"), version, kind,
				r.NamespacedName, r.Selector, r.From, r.To, r.WaitFor)
		} else if ReasonOf(r.Err) != commonv1.ReasonInvalidReference {
			text += ", which is no invalid reference"
		}
		all = append(all, strings.TrimSpace(strings.TrimPrefix(text, "spec.references")))
	}
	return strings.Join(all, "\n")
}

func TestNormalise(t *testing.T) {
	const former, present = "kubernetes.crossplane.io/v1alpha2 Object ", "kubernetes.m.crossplane.io/v1alpha1 Object "
	cluster := Rules{GVK: schema.FromAPIVersionAndKind("kubernetes.crossplane.io/v1alpha2", "Object")}
	team := Rules{GVK: mobjectv1alpha1.ObjectGroupVersionKind, Namespace: "team"}
	open := team
	open.CrossNamespace = true
	for name, tc := range map[string]struct {
		reason string
		rules  Rules
		refs   string // as YAML
		want   string // as told returns it
	}{
		"Nothing":  {"An entry without effect is skipped.", cluster, "[{}]", ""},
		"Defaults": {"The default is an Object.", cluster, "[{dependsOn: {name: a}}]", "[0].dependsOn: " + former + "/a[] >"},
		"Namespace": {
			"In a namespace the default is an Object there.", team, "[{dependsOn: {name: a, waitFor: Ready}}]",
			"[0].dependsOn: " + present + "team/a[] > Ready",
		},
		"Together": {
			"A dependency counts beside a value, and comes first.", cluster,
			"[{dependsOn: {name: d, waitFor: Ready}, patchesFrom: {name: p, fieldPath: x}}, {dependsOn: {name: e}}]",
			"[0].dependsOn: " + former + "/d[] > Ready\n[0].patchesFrom: " + former + "/p[] x>x\n" +
				"[1].dependsOn: " + former + "/e[] >",
		},
		"Stored": {
			"Of what is stored from before the rule against it, patchesFrom counts before fromObject.", cluster,
			"[{fromObject: {name: f}, patchesFrom: {name: p, fieldPath: x}}]",
			"[0].patchesFrom: " + former + "/p[] x>x",
		},
		"Relative": {
			"patchesFrom only knows paths in the manifest, which may be of an Object itself.", cluster,
			"[{toFieldPath: spec.forProvider.manifest.x, patchesFrom: {name: p, fieldPath: z}}]",
			"[0].patchesFrom: " + former + "/p[] z>spec.forProvider.manifest.x",
		},
		"Absolute": {
			"fromObject may name the field from the top of the Object.", cluster,
			"[{toFieldPath: spec.forProvider.manifest.x, fromObject: {matchLabels: {a: b}, fieldPath: z}}]",
			"[0].fromObject: " + former + "/[a=b] z>x",
		},
		"Selector": {
			"A selector may have expressions.", team, "[{patchesFrom: {apiVersion: v1, kind: Secret, fieldPath: z, " +
				"selector: {matchExpressions: [{key: a, operator: In, values: [c, b]}]}}}]",
			"[0].patchesFrom: v1 Secret team/[a in (b,c)] z>z",
		},
		"OtherNamespace": {
			"Other namespaces are out of reach.", team, "[{dependsOn: {name: a, namespace: other}}]",
			`[0].dependsOn: namespace "other" is not the namespace of the Object, and other namespaces ` +
				"need the provider's flag " +
				"--allow-cross-namespace-references",
		},
		"OtherAllowed": {
			"Unless the operator allows them.", open, "[{dependsOn: {name: a, namespace: other}}]",
			"[0].dependsOn: " + present + "other/a[] >",
		},
		"ClusterAnywhere": {
			"A cluster-scoped Object refers to any namespace.", cluster,
			"[{dependsOn: {apiVersion: v1, kind: Secret, name: a, namespace: other}}]", "[0].dependsOn: v1 Secret other/a[] >",
		},
		"Nobody": {
			"Something must be named.", cluster, "[{fromObject: {fieldPath: x}}]",
			"[0].fromObject: exactly one of a name and a non-empty selector must be set",
		},
		"Everybody": {
			"An empty selector selects all.", cluster, "[{patchesFrom: {fieldPath: x, selector: {}}}]",
			"[0].patchesFrom: exactly one of a name and a non-empty selector must be set",
		},
		"BadSelector": {
			"A selector must be valid.", cluster, "[{patchesFrom: {fieldPath: x, selector: {matchLabels: {'a b': c}}}}]",
			"[0].patchesFrom: selector is invalid: ",
		},
		"BadLabel": {
			"So must labels: a comma would begin another requirement.", cluster,
			"[{fromObject: {fieldPath: x, matchLabels: {a: 'b,c'}}}]", "[0].fromObject: selector is invalid: ",
		},
		"NoSource": {
			"What is written must be read.", cluster, "[{toFieldPath: x, fromObject: {name: a}}]",
			"[0].fromObject: toFieldPath needs a fieldPath",
		},
		"JSONPath": {
			"A path of kubectl is none of these.", cluster, "[{patchesFrom: {name: a, fieldPath: '{.data.x}'}}]",
			"[0].patchesFrom: fieldPath is invalid: {.data.x} is JSONPath: write data.x",
		},
		"DollarPath": {
			"Nor one with a root.", cluster, "[{toFieldPath: $.data.x, patchesFrom: {name: a, fieldPath: x}}]",
			"[0].patchesFrom: toFieldPath is invalid: $.data.x is JSONPath: write data.x",
		},
		"BadPath": {
			"A path must be valid.", cluster, "[{patchesFrom: {name: a, fieldPath: 'x['}}]",
			"[0].patchesFrom: fieldPath is invalid: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &commonv1.ObjectSpec{}
			if err := yaml.UnmarshalStrict([]byte("references: "+tc.refs), spec); err != nil {
				t.Fatal(err)
			}
			got := told(Normalise(spec, tc.rules))
			if strings.HasSuffix(tc.want, ": ") && strings.HasPrefix(got, tc.want) {
				return // Others say why.
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nNormalise: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestApply shows what a value is written to, and which must not be empty because they name the resource.
func TestApply(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		to     string
		value  any
		want   map[string]any // nil for an error
	}{
		"Value":         {"A value is written.", "data.a", "x", map[string]any{"data": map[string]any{"a": "x"}}},
		"Name":          {"So is a name.", "metadata.name", "x", map[string]any{"metadata": map[string]any{"name": "x"}}},
		"NameEmpty":     {"An empty name is none yet.", "metadata.name", "", nil},
		"NameNumber":    {"A number is no name.", "metadata.name", int64(1), nil},
		"NameInQuotes":  {"However the field is written.", "metadata[name]", "", nil},
		"MetadataEmpty": {"Nor may it be empty in metadata.", "metadata", map[string]any{"name": "x", "namespace": ""}, nil},
		"Metadata": {
			"Metadata may lack a namespace.", "metadata",
			map[string]any{"name": "x"},
			map[string]any{"metadata": map[string]any{"name": "x"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			res := &Resolution{values: []value{{written: tc.value, ref: &Reference{
				GVK: schema.GroupVersionKind{Kind: "Secret"}, From: "y", To: tc.to,
			}}}}
			content := map[string]any{}
			err := res.Apply(content)
			if (err != nil) != (tc.want == nil) || err != nil && !IsAwaited(err) {
				t.Fatalf("%s\nApply: got error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, content); tc.want != nil && diff != "" {
				t.Errorf("%s\nApply: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNames shows which fields decide what resource an Object is about.
func TestNames(t *testing.T) {
	for to, want := range map[string]bool{
		"metadata.name": true, "metadata": true, "kind": true, "metadata.labels": false, "data.name": false,
	} {
		spec := &commonv1.ObjectSpec{References: []commonv1.Reference{{
			ToFieldPath: &to, PatchesFrom: &commonv1.PatchesFrom{Name: "a", FieldPath: "x"},
		}}}
		if got := Names(spec); got != want {
			t.Errorf("%s: want %t, got %t", to, want, got)
		}
	}
}
