package projection

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxRounds bounds how often a schema is repaired. A second round finds what was not looked at before the first, such
	// as rules in CEL.
	maxRounds = 2
	// maxMessages is the number of complaints that an error tells.
	maxMessages = 5
	// schemaPath precedes the path of each complaint about a schema.
	schemaPath = "spec.validation.openAPIV3Schema"
)

// sanitize makes each schema one that kcp accepts.
func (p *Projection) sanitize() error {
	for i := range p.CRD.Spec.Versions {
		v := &p.CRD.Spec.Versions[i]
		if p.CRD.Spec.PreserveUnknownFields || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			v.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anyObject()}
			p.Repairs = append(p.Repairs, fmt.Sprintf("version %s: there is no schema, or preserveUnknownFields is set, so "+
				"objects may have any fields", v.Name))
		}
		if err := p.repairVersion(v); err != nil {
			return err
		}
	}
	slices.Sort(p.Repairs)
	p.Repairs = slices.Compact(p.Repairs)
	return nil
}

// repairVersion takes away what kcp would refuse of the schema of a version.
func (p *Projection) repairVersion(v *apiextensionsv1.CustomResourceDefinitionVersion) error {
	for round := 0; ; round++ {
		found, err := complaints(*v)
		switch {
		case err != nil || len(found) == 0:
			return err
		case round == maxRounds:
			return refused(v.Name, found)
		}
		for _, c := range found {
			path, ok := strings.CutPrefix(c.Field, schemaPath)
			if ok && drop(v.Schema.OpenAPIV3Schema, steps.FindAllStringSubmatch(path, -1), true) {
				p.Repairs = append(p.Repairs, fmt.Sprintf("version %s: %s: %s", v.Name, strings.TrimPrefix(path, "."),
					c.Detail))
			}
		}
		walk(v.Schema.OpenAPIV3Schema, func(s *apiextensionsv1.JSONSchemaProps) {
			s.XValidations = slices.DeleteFunc(s.XValidations,
				func(r apiextensionsv1.ValidationRule) bool { return r.Rule == "" })
		})
	}
}

// refused tells what cannot be repaired.
func refused(version string, complaints field.ErrorList) error {
	var messages []string
	for _, c := range complaints {
		// Without the value, which may be the whole schema.
		messages = append(messages, fmt.Sprintf("%s: %s: %s", c.Field, c.Type, c.Detail))
	}
	return failf(InvalidSchema, "kcp would reject the schema of version %s: %s", version, firstOf(messages, "; "))
}

// firstOf joins the first of many texts.
func firstOf(texts []string, separator string) string {
	slices.Sort(texts)
	if more := len(texts) - maxMessages; more > 0 {
		texts = append(texts[:maxMessages], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, separator)
}

// complaints says what Kubernetes, and so kcp, would refuse of a version of a new CustomResourceDefinition. Names are
// not looked at.
func complaints(v apiextensionsv1.CustomResourceDefinitionVersion) (field.ErrorList, error) {
	v.Name, v.Served, v.Storage, v.SelectableFields = "v1", true, true, nil
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "examples.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com",
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "examples", Singular: "example", Kind: "Example", ListKind: "ExampleList",
			},
			Scope:      apiextensionsv1.ClusterScoped,
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter},
			Versions:   []apiextensionsv1.CustomResourceDefinitionVersion{*v.DeepCopy()},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{v.Name}},
	}
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd,
		internal, nil); err != nil {
		return nil, errors.Wrap(err, "cannot convert CustomResourceDefinition")
	}
	// The context is for the evaluation of CEL on objects, and there are no objects here.
	return validation.ValidateCustomResourceDefinition(context.Background(), internal), nil
}

// anyObject is the schema of an object that may have any fields.
func anyObject() *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
}

// steps finds the steps of the path of a complaint, such as properties[spec] or items, each with its name and its key.
// A key may contain dots and brackets: it ends where another step begins.
var steps = regexp.MustCompile(`(?s)([^.\[]+)(?:\[(.*?)\])?(?:\.|$)`)

// drop takes away what a complaint is about, and reports whether it could: a field, a rule or a keyword that a schema
// has, or else all that describes the value, which may be anything then. The root stays an object. The path is what
// steps finds.
func drop(s *apiextensionsv1.JSONSchemaProps, path [][]string, isRoot bool) bool {
	if len(path) > 0 {
		name, key, rest := path[0][1], path[0][2], path[1:]
		field, isField := s.Properties[key]
		i, err := strconv.Atoi(key)
		switch {
		case name == "properties" && isField && len(rest) == 0:
			delete(s.Properties, key)
			return true
		case name == "properties" && isField:
			done := drop(&field, rest, false)
			s.Properties[key] = field
			return done
		case name == "items" && s.Items != nil && s.Items.Schema != nil:
			return drop(s.Items.Schema, rest, false)
		case name == "additionalProperties" && len(rest) > 0 && s.AdditionalProperties != nil &&
			s.AdditionalProperties.Schema != nil:
			return drop(s.AdditionalProperties.Schema, rest, false)
		case name == "x-kubernetes-validations" && err == nil && i < len(s.XValidations):
			s.XValidations[i] = apiextensionsv1.ValidationRule{} // It keeps its place as long as others are to be found.
			return true
		case !slices.Contains([]string{"properties", "items", "additionalProperties", "type"}, name) &&
			without(s, name):
			return true
		}
	}
	if isRoot {
		return false
	}
	wide := anything()
	wide.Description = s.Description
	*s = *wide
	return true
}

// without takes a keyword away, and reports whether it was there.
func without(s *apiextensionsv1.JSONSchemaProps, keyword string) bool {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if _, ok := fields[keyword]; err != nil || !ok {
		return false
	}
	delete(fields, keyword)
	out := apiextensionsv1.JSONSchemaProps{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &out) != nil {
		return false
	}
	*s = out
	return true
}

// walk calls f with each part of a schema that describes a value, the outer ones first.
func walk(s *apiextensionsv1.JSONSchemaProps, f func(*apiextensionsv1.JSONSchemaProps)) {
	f(s)
	for name, p := range s.Properties {
		walk(&p, f)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(s.Items.Schema, f)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(s.AdditionalProperties.Schema, f)
	}
}

// anything is the schema of a value of any type.
func anything() *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: new(true)}
}
