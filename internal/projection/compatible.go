package projection

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// checks find changes of schemas after which objects may not fit. A change that no check knows counts as such.
var checks = sync.OnceValues(func() (*runner.Runner, error) {
	const held, free = config.EnforcementPolicyError, config.EnforcementPolicyNone
	return runner.New(&config.Config{UnhandledEnforcement: held, Validations: []config.ValidationConfig{
		{Name: "enum", Enforcement: held, Configuration: map[string]any{"additionPolicy": "Allow"}},
		{Name: "nullable", Enforcement: held, Configuration: map[string]any{"additionPolicy": "Allow"}},
		{Name: "pattern", Enforcement: held, Configuration: map[string]any{"removalPolicy": "Allow"}},
		{Name: "default", Enforcement: free},
		{Name: "description", Enforcement: free},
		{Name: "storedVersionRemoval", Enforcement: free}, // Keep sees to it.
	}}, runner.DefaultRegistry())
})

// Breaks returns where objects that a published schema accepts may not be accepted any more: fields, and what of them
// has changed, as one text. It is empty if all are, or if the source is what that schema was made from: then the author
// has changed the projection, and wants it so.
func (p *Projection) Breaks(published *apisv1alpha1.APIResourceSchema) (string, error) {
	if published.Annotations[publishedv1alpha1.AnnotationKeySourceHash] == p.sourceHash {
		return "", nil
	}
	was, is, found := &apiextensionsv1.CustomResourceDefinition{}, p.CRD.DeepCopy(), sets.New[string]()
	for i := range published.Spec.Versions {
		v := &published.Spec.Versions[i]
		s, err := v.GetSchema()
		if err != nil {
			return "", errors.Wrapf(err, "cannot read version %s of APIResourceSchema %q", v.Name, published.Name)
		}
		was.Spec.Versions = append(was.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: v.Name, Served: v.Served,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: cmp.Or(s, anyObject())},
		})
	}
	if published.Spec.Scope != is.Spec.Scope {
		found.Insert("scope: changed")
	}
	prepare(was)
	prepare(is)
	for _, v := range was.Spec.Versions {
		if now := VersionOf(is, v.Name); now == nil {
			found.Insert("version " + v.Name + ": no longer served")
		} else {
			compareFields(found, validations.FlattenCRDVersion(v), validations.FlattenCRDVersion(*now))
		}
	}
	if err := compareSchemas(found, was, is); err != nil {
		return "", err
	}
	return firstOf(withoutChildren(found), "; "), nil
}

// changes are what is said of what a check finds, if it does not narrow what it is called after.
var changes = map[string]string{"type": "another type", "unhandled": "other rules", "required": "new required fields"}

// compareSchemas adds what checks find.
func compareSchemas(found sets.Set[string], was, is *apiextensionsv1.CustomResourceDefinition) error {
	check, err := checks()
	if err != nil {
		return errors.Wrap(err, "cannot compare schemas")
	}
	r := check.Run(was, is)
	for _, v := range slices.Concat(r.SameVersionValidation, r.ServedVersionValidation) {
		at, pair := "", strings.Contains(v.Version, "->") // What two versions do not share, kcp does not convert.
		if pair {
			at = v.Version + ": "
		}
		for _, property := range v.PropertyComparisons {
			for _, c := range property.ComparisonResults {
				// The texts of errors are not stable. What one version requires, compareFields finds.
				if len(c.Errors) > 0 && (c.Name != "required" || pair) {
					found.Insert(at + fieldOf(property.Property) + ": " + cmp.Or(changes[c.Name], "narrower "+c.Name))
				}
			}
		}
	}
	return nil
}

// prepare leaves of a definition the versions that are served. What holds for each value of a map becomes a field *, as
// no check looks below additionalProperties.
func prepare(d *apiextensionsv1.CustomResourceDefinition) {
	d.Spec.Versions = slices.DeleteFunc(d.Spec.Versions,
		func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Served })
	for i := range d.Spec.Versions {
		walk(d.Spec.Versions[i].Schema.OpenAPIV3Schema, func(s *apiextensionsv1.JSONSchemaProps) {
			if a := s.AdditionalProperties; a != nil && a.Schema != nil {
				s.Properties = map[string]apiextensionsv1.JSONSchemaProps{"*": *a.Schema}
				s.AdditionalProperties = nil
			}
		})
	}
}

// compareFields adds what no check names: fields that are gone or required, and those that get a schema where objects
// had any.
func compareFields(found sets.Set[string], was, is map[string]*apiextensionsv1.JSONSchemaProps) {
	for path, before := range was {
		now, ok := is[path]
		if !ok {
			continue // Its parent tells.
		}
		add := func(fields sets.Set[string], what string) {
			for name := range fields {
				found.Insert(fieldOf(path+"."+name) + ": " + what)
			}
		}
		had, has := childrenOf(before), childrenOf(now)
		add(had.Difference(has), "gone")
		add(sets.New(now.Required...).Difference(sets.New(before.Required...)), "new required field")
		if before.XPreserveUnknownFields != nil && *before.XPreserveUnknownFields {
			add(has.Difference(had), "had any value")
		}
	}
}

// childrenOf returns the names of what a schema describes below it.
func childrenOf(s *apiextensionsv1.JSONSchemaProps) sets.Set[string] {
	names := sets.KeySet(s.Properties)
	if s.Items != nil {
		names.Insert("items")
	}
	return names
}

// withoutChildren returns texts without those of what is, or is below, a field that is gone.
func withoutChildren(found sets.Set[string]) []string {
	return slices.DeleteFunc(found.UnsortedList(), func(text string) bool {
		for other := range found {
			field, gone := strings.CutSuffix(other, ": gone")
			if gone && text != other && (strings.HasPrefix(text, field+".") || strings.HasPrefix(text, field+":")) {
				return true
			}
		}
		return false
	})
}

// fieldOf returns a field as authors write it.
func fieldOf(path string) string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(path, "^"), "."), "object")
}
