package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

func TestNormalise(t *testing.T) {
	cluster := Rules{GVK: schema.GroupVersionKind{
		Group: "kubernetes.crossplane.io", Version: "v1alpha2", Kind: "Object",
	}}
	team := Rules{GVK: schema.GroupVersionKind{
		Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: "Object",
	}, Namespace: "team"}
	open := team
	open.CrossNamespace = true
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	depends := func(d commonv1.DependsOn) commonv1.Reference { return commonv1.Reference{DependsOn: &d} }
	for name, tc := range map[string]struct {
		reason string
		refs   []commonv1.Reference
		rules  Rules
		want   []Reference
		err    string // part of the error of the only reference
	}{
		"Nothing": {reason: "An entry without effect is skipped.", refs: []commonv1.Reference{{}}, rules: cluster},
		"Defaults": {
			reason: "The default is an Object.",
			refs:   []commonv1.Reference{depends(commonv1.DependsOn{Name: "a"})},
			rules:  cluster,
			want: []Reference{{
				At: "spec.references[0].dependsOn", GVK: cluster.GVK, NamespacedName: types.NamespacedName{Name: "a"},
			}},
		},
		"Namespace": {
			reason: "In a namespace the default is an Object there.",
			refs:   []commonv1.Reference{depends(commonv1.DependsOn{Name: "a", WaitFor: commonv1.WaitForReady})},
			rules:  team,
			want: []Reference{{
				At: "spec.references[0].dependsOn", GVK: team.GVK,
				NamespacedName: types.NamespacedName{Namespace: "team", Name: "a"}, WaitFor: commonv1.WaitForReady,
			}},
		},
		"Precedence": {
			reason: "Of several members patchesFrom counts, then fromObject.",
			refs: []commonv1.Reference{
				{
					DependsOn: &commonv1.DependsOn{Name: "d"}, FromObject: &commonv1.FromObject{Name: "f"},
					PatchesFrom: &commonv1.PatchesFrom{Name: "p", FieldPath: "x"},
				},
				{DependsOn: &commonv1.DependsOn{Name: "d"}, FromObject: &commonv1.FromObject{Name: "f"}},
			},
			rules: cluster,
			want: []Reference{
				{
					At: "spec.references[0].patchesFrom", GVK: cluster.GVK,
					NamespacedName: types.NamespacedName{Name: "p"}, From: "x", To: "x",
				},
				{
					At: "spec.references[1].fromObject", GVK: cluster.GVK,
					NamespacedName: types.NamespacedName{Name: "f"},
				},
			},
		},
		"Relative": {
			reason: "patchesFrom only knows paths in the manifest, which may be of an Object itself.",
			refs: []commonv1.Reference{{
				ToFieldPath: new("spec.forProvider.manifest.x"),
				PatchesFrom: &commonv1.PatchesFrom{Name: "p", FieldPath: "y"},
			}},
			rules: cluster,
			want: []Reference{{
				At: "spec.references[0].patchesFrom", GVK: cluster.GVK, NamespacedName: types.NamespacedName{Name: "p"},
				From: "y", To: "spec.forProvider.manifest.x",
			}},
		},
		"Absolute": {
			reason: "fromObject may name the field from the top of the Object.",
			refs: []commonv1.Reference{{
				ToFieldPath: new("spec.forProvider.manifest.x"),
				FromObject:  &commonv1.FromObject{MatchLabels: map[string]string{"a": "b"}, FieldPath: "y"},
			}},
			rules: cluster,
			want: []Reference{{
				At: "spec.references[0].fromObject", GVK: cluster.GVK, Selector: "a=b", From: "y", To: "x",
			}},
		},
		"Selector": {
			reason: "A selector may have expressions.",
			refs: []commonv1.Reference{{PatchesFrom: &commonv1.PatchesFrom{
				APIVersion: "v1", Kind: "Secret",
				FieldPath: "y", Selector: &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{{
						Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"c", "b"},
					}},
				},
			}}},
			rules: team,
			want: []Reference{{
				At: "spec.references[0].patchesFrom", GVK: secret,
				NamespacedName: types.NamespacedName{Namespace: "team"}, Selector: "a in (b,c)", From: "y", To: "y",
			}},
		},
		"OtherNamespace": {
			reason: "Other namespaces are out of reach.",
			refs:   []commonv1.Reference{depends(commonv1.DependsOn{Name: "a", Namespace: "other"})},
			rules:  team,
			err: `spec.references[0].dependsOn: namespace "other" is not that of the Object, ` +
				`and references to others need the provider's flag --allow-cross-namespace-references`,
		},
		"OtherAllowed": {
			reason: "Unless the operator allows them.",
			refs:   []commonv1.Reference{depends(commonv1.DependsOn{Name: "a", Namespace: "other"})},
			rules:  open,
			want: []Reference{{
				At: "spec.references[0].dependsOn", GVK: team.GVK,
				NamespacedName: types.NamespacedName{Namespace: "other", Name: "a"},
			}},
		},
		"ClusterAnywhere": {
			reason: "A cluster-scoped Object refers to any namespace.",
			refs: []commonv1.Reference{depends(commonv1.DependsOn{
				APIVersion: "v1", Kind: "Secret", Name: "a", Namespace: "other",
			})},
			rules: cluster,
			want: []Reference{{
				At: "spec.references[0].dependsOn", GVK: secret,
				NamespacedName: types.NamespacedName{Namespace: "other", Name: "a"},
			}},
		},
		"Nobody": {
			reason: "Something must be named.",
			refs:   []commonv1.Reference{{FromObject: &commonv1.FromObject{FieldPath: "x"}}},
			rules:  cluster,
			err:    "exactly one of a name",
		},
		"Everybody": {
			reason: "An empty selector selects all.",
			refs: []commonv1.Reference{{PatchesFrom: &commonv1.PatchesFrom{
				FieldPath: "x", Selector: &metav1.LabelSelector{},
			}}},
			rules: cluster,
			err:   "exactly one of a name",
		},
		"BadSelector": {
			reason: "A selector must be valid.",
			refs: []commonv1.Reference{{PatchesFrom: &commonv1.PatchesFrom{
				FieldPath: "x", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}},
			}}},
			rules: cluster,
			err:   "selector is invalid",
		},
		"BadLabel": {
			reason: "So must labels: a comma would begin another requirement.",
			refs: []commonv1.Reference{{FromObject: &commonv1.FromObject{
				FieldPath: "x", MatchLabels: map[string]string{"a": "b,c"},
			}}},
			rules: cluster,
			err:   "selector is invalid",
		},
		"NoSource": {
			reason: "What is written must be read.",
			refs:   []commonv1.Reference{{ToFieldPath: new("x"), FromObject: &commonv1.FromObject{Name: "a"}}},
			rules:  cluster,
			err:    "needs a fieldPath",
		},
		"JSONPath": {
			reason: "A path of kubectl is none of these.",
			refs:   []commonv1.Reference{{PatchesFrom: &commonv1.PatchesFrom{Name: "a", FieldPath: "{.data.x}"}}},
			rules:  cluster,
			err:    "spec.references[0].patchesFrom: fieldPath is invalid: {.data.x} is JSONPath: write data.x",
		},
		"DollarPath": {
			reason: "Nor one with a root.",
			refs: []commonv1.Reference{{
				ToFieldPath: new("$.data.x"), PatchesFrom: &commonv1.PatchesFrom{Name: "a", FieldPath: "x"},
			}},
			rules: cluster,
			err:   "toFieldPath is invalid: $.data.x is JSONPath: write data.x",
		},
		"BadPath": {
			reason: "A path must be valid.",
			refs:   []commonv1.Reference{{PatchesFrom: &commonv1.PatchesFrom{Name: "a", FieldPath: "x["}}},
			rules:  cluster,
			err:    "fieldPath is invalid",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Normalise(&commonv1.ObjectSpec{References: tc.refs}, tc.rules)
			if tc.err != "" {
				if len(got) != 1 || got[0].Err == nil || !strings.Contains(got[0].Err.Error(), tc.err) ||
					ReasonOf(got[0].Err) != commonv1.ReasonInvalidReference {
					t.Errorf("%s\nNormalise: want one reference with error %q, got %v", tc.reason, tc.err, got)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty(),
				cmpopts.IgnoreUnexported(Reference{})); diff != "" {
				t.Errorf("%s\nNormalise: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestApply(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		to     string
		value  any
		want   map[string]any // nil for an error
	}{
		"Value": {
			reason: "A value is written.",
			to:     "data.a",
			value:  "x",
			want:   map[string]any{"data": map[string]any{"a": "x"}},
		},
		"Name": {
			reason: "So is a name.",
			to:     "metadata.name",
			value:  "x",
			want:   map[string]any{"metadata": map[string]any{"name": "x"}},
		},
		"NameEmpty":    {reason: "An empty name is none yet.", to: "metadata.name", value: "", want: nil},
		"NameNumber":   {reason: "A number is no name.", to: "metadata.name", value: int64(1), want: nil},
		"NameInQuotes": {reason: "However the field is written.", to: "metadata[name]", value: "", want: nil},
		"Metadata": {
			reason: "Metadata may lack a namespace.",
			to:     "metadata",
			value:  map[string]any{"name": "x"},
			want:   map[string]any{"metadata": map[string]any{"name": "x"}},
		},
		"MetadataEmpty": {
			reason: "But not have an empty one.",
			to:     "metadata",
			value:  map[string]any{"name": "x", "namespace": ""},
			want:   nil,
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

func TestNames(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		to     string
		want   bool
	}{
		"Name":  {reason: "The name decides.", to: "metadata.name", want: true},
		"Whole": {reason: "So does all of the metadata.", to: "metadata", want: true},
		"Kind":  {reason: "And the kind.", to: "kind", want: true},
		"Label": {reason: "A label does not.", to: "metadata.labels", want: false},
		"Data":  {reason: "Nor does data.", to: "data.name", want: false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &commonv1.ObjectSpec{References: []commonv1.Reference{{
				ToFieldPath: &tc.to, PatchesFrom: &commonv1.PatchesFrom{Name: "a", FieldPath: "x"},
			}}}
			if got := Names(spec); got != tc.want {
				t.Errorf("%s\nNames: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
