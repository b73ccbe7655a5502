package object_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

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
		return func(o build.Object) { queried(o, text) }
	}
	from := func(path string) func(build.Object) {
		return func(o build.Object) {
			o.Desired().References = []commonv1.Reference{patches(commonv1.PatchesFrom{Name: "source", FieldPath: path})}
		}
	}
	const (
		combined = "managementPolicies must be"
		equals   = "compare with == and not with ="
		path     = "is not JSONPath"
	)
	for name, tc := range map[string]struct {
		change func(build.Object)
		want   string // in the message, empty if it is accepted
	}{
		"All":          {policies("*"), ""},
		"None":         {policies(), ""},
		"Observe":      {policies("Observe"), ""},
		"ObserveLate":  {policies("Observe", "LateInitialize"), ""},
		"Create":       {policies("Observe", "Create"), ""},
		"Update":       {policies("Update", "Observe"), ""},
		"UpdateLate":   {policies("Observe", "Update", "LateInitialize"), ""},
		"Delete":       {policies("Observe", "Delete"), ""},
		"Kept":         {policies("Observe", "Create", "Update"), ""},
		"Fixed":        {policies("Observe", "Create", "Delete", "LateInitialize"), ""},
		"Each":         {policies("Observe", "Create", "Update", "Delete", "LateInitialize"), ""},
		"Blind":        {policies("Create", "Delete"), combined},
		"AllAndOne":    {policies("*", "Observe"), combined},
		"UpdateDelete": {policies("Observe", "Update", "Delete"), combined},
		"DeleteLate":   {policies("Observe", "Delete", "LateInitialize"), combined},
		"Query": {
			query(`object.data.a == "b=c" && size(object.data) >= 1 && object.data.d != 'it"s=' || object.x <= 2`),
			"",
		},
		"QueryComment": {query("object.data.a == 'b' // it's = b"), ""},
		"QueryLong":    {query(`object.data.a == """a "b" = c"""`), ""},
		"QueryEscaped": {query(`object.data.a == "b\"=c"`), ""},
		"QueryMacro": {
			query("object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"),
			"",
		},
		"QueryAssigns":      {query(`object.data.a = "b"`), equals},
		"QueryAssignsLast":  {query(`object.data.a == "b" && object.data.c="d"`), equals},
		"QueryJavaScript":   {query(`object.data.a === "b"`), equals},
		"Path":              {from("status.atProvider.manifest.data.a"), ""},
		"PathBrackets":      {from("metadata.annotations[example.org/{a}]"), ""},
		"PathJSON":          {from("{.data.x}"), path},
		"PathDot":           {from(".data.x"), path},
		"PathDollar":        {from("$.data.x"), path},
		"ConfigKind":        {configKind("ProviderConfig"), ""},
		"ConfigKindCluster": {configKind("ClusterProviderConfig"), ""},
		"ConfigKindMisspelt": {
			configKind("ClusterProviderconfig"),
			`supported values: "ProviderConfig", "ClusterProviderConfig"`,
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
