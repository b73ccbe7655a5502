package object_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
)

// TestRefusedAtOnce shows what the control plane refuses, and what it does not, as it is written.
func TestRefusedAtOnce(t *testing.T) {
	c := provide(t)
	policies := func(p ...xpv2.ManagementAction) func(build.Object) {
		return func(o build.Object) { o.SetManagementPolicies(p) }
	}
	query := func(text string) func(build.Object) {
		return func(o build.Object) { o.Desired().Readiness = queries(text) }
	}
	manifest := func(text string) func(build.Object) {
		return func(o build.Object) { o.Desired().ForProvider.Manifest = runtime.RawExtension{Raw: []byte(text)} }
	}
	from := func(path string) func(build.Object) {
		return func(o build.Object) {
			o.Desired().References = []commonv1.Reference{patches(commonv1.PatchesFrom{
				Name: "source", FieldPath: path,
			})}
		}
	}
	const (
		combined = "managementPolicies must be"
		equals   = "compare with == and not with ="
		path     = "must not be JSONPath"
	)
	for name, tc := range map[string]struct {
		change func(build.Object)
		want   string // in the message, empty if it is accepted
	}{
		"All":          {change: policies("*")},
		"None":         {change: policies()},
		"Observe":      {change: policies("Observe")},
		"ObserveLate":  {change: policies("Observe", "LateInitialize")},
		"Create":       {change: policies("Observe", "Create")},
		"Update":       {change: policies("Update", "Observe")},
		"UpdateLate":   {change: policies("Observe", "Update", "LateInitialize")},
		"Delete":       {change: policies("Observe", "Delete")},
		"Kept":         {change: policies("Observe", "Create", "Update")},
		"Fixed":        {change: policies("Observe", "Create", "Delete", "LateInitialize")},
		"Each":         {change: policies("Observe", "Create", "Update", "Delete", "LateInitialize")},
		"Blind":        {change: policies("Create", "Delete"), want: combined},
		"AllAndOne":    {change: policies("*", "Observe"), want: combined},
		"UpdateDelete": {change: policies("Observe", "Update", "Delete"), want: combined},
		"DeleteLate":   {change: policies("Observe", "Delete", "LateInitialize"), want: combined},
		"Query": {
			change: query(`object.data.a == "b=c" && size(object.data) >= 1 && object.data.d != 'it"s=' || object.x <= 2`),
		},
		"QueryWithoutPolicy": {
			change: func(o build.Object) { o.Desired().Readiness = commonv1.Readiness{CelQuery: `object.data.a = "b"`} },
		},
		"QueryComment":     {change: query("object.data.a == 'b' // it's = b")},
		"QueryLong":        {change: query(`object.data.a == """a "b" = c"""`)},
		"QueryEscaped":     {change: query(`object.data.a == "b\"=c"`)},
		"QueryMacro":       {change: query("object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')")},
		"QueryAssigns":     {change: query(`object.data.a = "b"`), want: equals},
		"QueryAssignsLast": {change: query(`object.data.a == "b" && object.data.c="d"`), want: equals},
		"QueryJavaScript":  {change: query(`object.data.a === "b"`), want: equals},
		"FromObjectAlone": {
			change: func(o build.Object) {
				from("status")(o)
				o.Desired().References[0].FromObject = &commonv1.FromObject{Name: "source"}
			},
			want: "fromObject cannot be set together with patchesFrom or dependsOn",
		},
		"MapWithoutMap": {
			change: func(o build.Object) {
				from("status")(o)
				o.Desired().References[0].PatchesFrom.Transforms = []commonv1.Transform{{Type: commonv1.TransformMap}}
			},
			want: "map must be set if type is map",
		},
		"Path":              {change: from("status.atProvider.manifest.data.a")},
		"PathBrackets":      {change: from("metadata.annotations[example.org/{a}]")},
		"PathJSON":          {change: from("{.data.x}"), want: path},
		"PathDot":           {change: from(".data.x"), want: path},
		"PathDollar":        {change: from("$.data.x"), want: path},
		"NotAnObject":       {change: manifest(`"just text"`), want: "must be of type object"},
		"WithoutKind":       {change: manifest(`{"apiVersion":"v1"}`), want: "spec.forProvider.manifest.kind: Required"},
		"WithoutAPIVersion": {change: manifest(`{"kind":"X"}`), want: "spec.forProvider.manifest.apiVersion: Required"},
		"ConfigKind":        {change: configKind("ProviderConfig")},
		"ConfigKindCluster": {change: configKind("ClusterProviderConfig")},
		"ConfigKindMisspelt": {
			change: configKind("ClusterProviderconfig"),
			want:   `supported values: "ProviderConfig", "ClusterProviderConfig"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(t *testing.T, s build.Scope) {
				o := s.Object("default", "refused", "any", build.ConfigMap("default", "settings"))
				tc.change(o)
				if _, namespaced := o.(*mobjectv1alpha1.Object); !namespaced && strings.HasPrefix(name, "ConfigKind") {
					return // It refers by name alone.
				}
				err := c.Create(t.Context(), o, client.DryRunAll)
				switch {
				case tc.want == "" && err != nil:
					t.Errorf("want it accepted, got: %v", err)
				case tc.want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want)):
					t.Errorf("want it refused with %q, got: %v", tc.want, err)
				}
			})
		})
	}
}

// configKind changes the kind that a namespaced Object refers to.
func configKind(kind string) func(build.Object) {
	return func(o build.Object) {
		if o, ok := o.(*mobjectv1alpha1.Object); ok {
			o.Spec.ProviderConfigReference.Kind = kind
		}
	}
}
