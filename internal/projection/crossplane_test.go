package projection

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
)

// proxies is the schema of an author. Two of its fields have names that Crossplane uses elsewhere.
const proxies = `
type: object
properties:
  spec:
    type: object
    required: [parameters]
    properties:
      parameters: {type: object, properties: {proxyType: {type: string}}}
      claimed: {type: string}
      environmentConfigRefs: {type: array, items: {type: string}}
      publishConnectionDetailsTo: {type: string}
  status:
    type: object
    properties:
      address: {type: string}
`

// proxiesOf returns what Crossplane makes of the schema of the author, with a column of the author's.
func proxiesOf(t *testing.T, of string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	const group = "example.com"
	var crd *apiextensionsv1.CustomResourceDefinition
	switch of {
	case "Claim":
		crd = build.Claim(t, group, "proxies", proxies)
	case "Legacy":
		crd = build.Composite(t, group, "proxies", proxies, build.ScopeLegacy)
	case "Cluster":
		crd = build.Composite(t, group, "proxies", proxies, build.ScopeCluster)
	default:
		crd = build.Composite(t, group, "proxies", proxies, build.ScopeNamespaced)
	}
	v := &crd.Spec.Versions[0]
	v.AdditionalPrinterColumns = append([]apiextensionsv1.CustomResourceColumnDefinition{{
		Name: "TYPE", Type: "string", JSONPath: ".spec.parameters.proxyType",
	}}, v.AdditionalPrinterColumns...)
	return crd
}

// An offer is what consumers see of the spec, of the status, and by kubectl get.
type offer struct {
	Platform, Spec, Crossplane, Status, Columns []string
}

func offerOf(p *Projection) offer {
	v := p.CRD.Spec.Versions[0]
	fields := func(s apiextensionsv1.JSONSchemaProps) []string { return slices.Sorted(maps.Keys(s.Properties)) }
	spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
	out := offer{
		Platform: p.PlatformFields, Spec: fields(spec), Crossplane: fields(spec.Properties["crossplane"]),
		Status: fields(v.Schema.OpenAPIV3Schema.Properties["status"]),
	}
	for _, c := range v.AdditionalPrinterColumns {
		out.Columns = append(out.Columns, c.Name)
	}
	return out
}

func TestCrossplaneFields(t *testing.T) {
	own := []string{"claimed", "environmentConfigRefs", "parameters", "publishConnectionDetailsTo"}
	legacy := []string{"claimed", "parameters"} // Crossplane 1 has fields of the other names.
	// Paths of the fields of Crossplane beside those of the author, but for some of all, and more.
	paths := func(without string, more ...string) []string {
		out := []string{"status.claimConditionTypes", "status.connectionDetails"}
		for _, name := range append(more, "compositionRef", "compositionRevisionRef", "compositionRevisionSelector",
			"compositionSelector", "compositionUpdatePolicy", "environmentConfigRefs", "publishConnectionDetailsTo",
			"writeConnectionSecretToRef") {
			if name != without {
				out = append(out, "spec."+name)
			}
		}
		slices.Sort(out)
		return out
	}
	columns := []string{"TYPE", "SYNCED", "READY", "AGE"}
	for name, tc := range map[string]struct {
		reason, of string
		shown      []publishedv1alpha1.CrossplaneField
		want       offer
	}{
		"Namespaced": {
			reason: "All of spec.crossplane is the platform's, with the columns that show it. What the author has stays.",
			of:     "Namespaced", want: offer{Platform: []string{"spec.crossplane"}, Spec: own, Columns: columns},
		},
		"Cluster": {
			reason: "So it is in composites without a namespace.", of: "Cluster",
			want: offer{Platform: []string{"spec.crossplane"}, Spec: own, Columns: columns},
		},
		"Legacy": {
			reason: "Composites that offer claims have the fields beside those of the author, also former ones.", of: "Legacy",
			want: offer{Platform: paths("", "claimRef", "resourceRefs"), Spec: legacy, Columns: columns},
		},
		"Claim": {
			reason: "Claims have others.", of: "Claim",
			want: offer{Platform: paths("", "compositeDeletePolicy", "resourceRef"), Spec: legacy, Columns: columns},
		},
		"NamespacedShown": {
			reason: "What is asked for is shown, with its column.", of: "Namespaced",
			shown: []publishedv1alpha1.CrossplaneField{"compositionRef", "compositionSelector", "claimRef"},
			want: offer{
				Platform: []string{
					"spec.crossplane.compositionRevisionRef", "spec.crossplane.compositionRevisionSelector",
					"spec.crossplane.compositionUpdatePolicy", "spec.crossplane.resourceRefs",
				},
				Spec:       []string{"claimed", "crossplane", "environmentConfigRefs", "parameters", "publishConnectionDetailsTo"},
				Crossplane: []string{"compositionRef", "compositionSelector"},
				Columns:    []string{"TYPE", "SYNCED", "READY", "COMPOSITION", "AGE"},
			},
		},
		"ClaimShown": {
			reason: "So it is in claims.", of: "Claim",
			shown: []publishedv1alpha1.CrossplaneField{"writeConnectionSecretToRef"},
			want: offer{
				Platform: paths("writeConnectionSecretToRef", "compositeDeletePolicy", "resourceRef"),
				Spec:     append(slices.Clone(legacy), "writeConnectionSecretToRef"),
				Columns:  []string{"TYPE", "SYNCED", "READY", "CONNECTION-SECRET", "AGE"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := proxiesOf(t, tc.of)
			before := crd.DeepCopy()
			p := mustProject(t, crd, &publishedv1alpha1.ResourceProjection{CrossplaneFields: tc.shown})
			tc.want.Status = []string{"address", "conditions"}
			if diff := cmp.Diff(tc.want, offerOf(p), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff([]string(nil), p.Repairs); diff != "" {
				t.Errorf("kcp accepts what is left: -want, +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, crd); diff != "" {
				t.Errorf("the source must stay as it is: -before, +after:\n%s", diff)
			}
		})
	}
}

// TestCrossplaneFieldsStay shows whose types are left as they are: those that Crossplane has not made, whatever their
// fields are called, and those of which all is asked for.
func TestCrossplaneFieldsStay(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*apiextensionsv1.CustomResourceDefinition)
		shown  []publishedv1alpha1.CrossplaneField
	}{
		"Nobodys": {
			reason: "A type without a controller is not Crossplane's.",
			change: func(crd *apiextensionsv1.CustomResourceDefinition) { crd.OwnerReferences = nil },
		},
		"Owned": {
			reason: "An owner that does not control it has not made it.",
			change: func(crd *apiextensionsv1.CustomResourceDefinition) { crd.OwnerReferences[0].Controller = nil },
		},
		"OfAnotherGroup": {
			reason: "Others may have a kind of that name.",
			change: func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.OwnerReferences[0].APIVersion = "example.com/v1"
			},
		},
		"OfAProvider": {
			reason: "What Crossplane installs for a provider is no composite.",
			change: func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.OwnerReferences[0].Kind = "ManagedResourceDefinition"
			},
		},
		"Asked": {
			reason: "An asterisk stands for all.",
			change: func(*apiextensionsv1.CustomResourceDefinition) {},
			shown:  []publishedv1alpha1.CrossplaneField{publishedv1alpha1.CrossplaneFieldsAll},
		},
	} {
		for _, of := range []string{"Namespaced", "Claim"} {
			t.Run(name+of, func(t *testing.T) {
				crd := proxiesOf(t, of)
				tc.change(crd)
				p := mustProject(t, crd, &publishedv1alpha1.ResourceProjection{CrossplaneFields: tc.shown})
				if diff := cmp.Diff(crd.Spec.Versions, p.CRD.Spec.Versions); diff != "" || len(p.PlatformFields) > 0 {
					t.Errorf("%s\n%v -want, +got:\n%s", tc.reason, p.PlatformFields, diff)
				}
			})
		}
	}
}

// TestCrossplaneRules shows that rules of an author in CEL that name a field of Crossplane are left to the service
// cluster, and others stay.
func TestCrossplaneRules(t *testing.T) {
	const rules = `
type: object
properties:
  spec:
    type: object
    required: [crossplane, size]
    properties:
      size: {type: integer}
    x-kubernetes-validations:
    - {rule: "self.size < 9"}
    - {rule: "has(self.crossplane.compositionRef)", message: choose}
x-kubernetes-validations:
- {rule: "!has(self.spec.crossplane) || self.spec.size > 1"}
- {rule: "self.spec.size > 2"}
`
	crd := build.Composite(t, "example.com", "proxies", rules, build.ScopeNamespaced)
	p := mustProject(t, crd, nil)
	type restrictions struct {
		Root, Spec, Required []string
	}
	textOf := func(s apiextensionsv1.JSONSchemaProps) (out []string) {
		for _, r := range s.XValidations {
			out = append(out, r.Rule)
		}
		return out
	}
	root := p.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema
	spec := root.Properties["spec"]
	want := restrictions{
		Root: []string{"self.spec.size > 2"}, Spec: []string{"self.size < 9"}, Required: []string{"size"},
	}
	got := restrictions{Root: textOf(*root), Spec: textOf(spec), Required: spec.Required}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if len(p.Repairs) != 2 {
		t.Errorf("want each rule that is left out to be told, got %q", p.Repairs)
	}
}
