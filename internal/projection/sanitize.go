package projection

import (
	"context"
	"encoding/json"
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
	// maxRounds bounds how often a schema is repaired. One round leads to another where a repair uncovers what was not
	// looked at before.
	maxRounds = 20
	// maxMessages is the number of complaints that an error tells.
	maxMessages = 5
	// maxBytes is what etcd stores in one object, less what metadata may take.
	maxBytes = 1_500_000
	// schemaPath precedes the path of each complaint about a schema.
	schemaPath = "spec.validation.openAPIV3Schema"
)

// sanitize makes each schema one that kcp accepts.
func (p *Projection) sanitize() error {
	for i := range p.CRD.Spec.Versions {
		v := &p.CRD.Spec.Versions[i]
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			v.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anyObject()}
			p.Repairs = append(p.Repairs, fmt.Sprintf("version %s: there is no schema, so objects may have any fields",
				v.Name))
			continue
		}
		if p.CRD.Spec.PreserveUnknownFields {
			walk(v.Schema.OpenAPIV3Schema, func(s *apiextensionsv1.JSONSchemaProps) {
				if s.Type == "object" && s.AdditionalProperties == nil {
					s.XPreserveUnknownFields = new(true)
				}
			})
			p.Repairs = append(p.Repairs,
				fmt.Sprintf("version %s: preserveUnknownFields is set, so objects may have any fields", v.Name))
		}
		if err := p.repairVersion(v); err != nil {
			return err
		}
	}
	slices.Sort(p.Repairs)
	p.Repairs = slices.Compact(p.Repairs)
	return nil
}

// repairVersion repairs the schema of a version until there are no complaints.
func (p *Projection) repairVersion(v *apiextensionsv1.CustomResourceDefinitionVersion) error {
	for range maxRounds {
		complaints, err := complaints(*v)
		if err != nil || len(complaints) == 0 {
			return err
		}
		progress := false
		for _, c := range complaints {
			path, found := strings.CutPrefix(c.Field, schemaPath)
			if !found || !repair(v.Schema.OpenAPIV3Schema, parsePath(path), true) {
				continue
			}
			progress = true
			p.Repairs = append(p.Repairs, fmt.Sprintf("version %s: %s: %s", v.Name, strings.TrimPrefix(path, "."),
				c.Detail))
		}
		if !progress {
			return refused(v.Name, complaints)
		}
		walk(v.Schema.OpenAPIV3Schema, func(s *apiextensionsv1.JSONSchemaProps) {
			s.XValidations = slices.DeleteFunc(s.XValidations,
				func(r apiextensionsv1.ValidationRule) bool { return r.Rule == "" })
		})
	}
	return failf(InvalidSchema, "schema of version %s: repairs do not come to an end", v.Name)
}

// refused tells what cannot be repaired.
func refused(version string, complaints field.ErrorList) error {
	var messages []string
	for _, c := range complaints {
		// Without the value, which may be the whole schema.
		messages = append(messages, fmt.Sprintf("%s: %s: %s", c.Field, c.Type, c.Detail))
	}
	return failf(InvalidSchema, "kcp would refuse the schema of version %s: %s", version, firstOf(messages, "; "))
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
func complaints(v apiextensionsv1.CustomResourceDefinitionVersion) (out field.ErrorList, err error) {
	version := v.Name
	defer func() {
		// Kubernetes panics on CEL rules in places that are not structural, such as those below a type that is none.
		if r := recover(); r != nil {
			err = failf(InvalidSchema, "kcp could not read the schema of version %s: %v", version, r)
		}
	}()
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

// fit takes descriptions away if the schemas are too large with them.
func (p *Projection) fit() error {
	size, err := p.size()
	if err != nil || size <= maxBytes {
		return err
	}
	for _, v := range p.CRD.Spec.Versions {
		if !v.Served { // There may be ever more of them.
			v.Schema.OpenAPIV3Schema = anyObject()
		}
		walk(v.Schema.OpenAPIV3Schema, func(s *apiextensionsv1.JSONSchemaProps) { s.Description = "" })
	}
	p.Repairs = append(p.Repairs, fmt.Sprintf("without descriptions, as %d bytes are more than kcp stores", size))
	if size, err = p.size(); err != nil || size <= maxBytes {
		return err
	}
	return failf(TooLarge, "the schemas have %d bytes, and kcp stores no more than %d: publish fewer versions", size,
		maxBytes)
}

// size returns the number of bytes of the schemas of all versions.
func (p *Projection) size() (int, error) {
	b, err := json.Marshal(p.CRD.Spec)
	return len(b), errors.Wrap(err, "cannot encode CustomResourceDefinition")
}

// anyObject is the schema of an object that may have any fields.
func anyObject() *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
}

// A step is one part of the path of a complaint, such as properties[spec] or items.
type step struct {
	name string
	key  string
}

// steps finds the steps of a path. A key may contain dots and brackets: it ends where another step begins.
var steps = regexp.MustCompile(`(?s)([^.\[]+)(?:\[(.*?)\])?(?:\.|$)`)

func parsePath(path string) []step {
	var out []step
	for _, m := range steps.FindAllStringSubmatch(path, -1) {
		out = append(out, step{name: m[1], key: m[2]})
	}
	return out
}

// repair takes away what a complaint is about, and reports whether there was anything to take.
func repair(s *apiextensionsv1.JSONSchemaProps, path []step, isRoot bool) bool {
	if len(path) == 0 {
		return widen(s, isRoot)
	}
	switch first := path[0]; first.name {
	case "properties":
		if first.key == "" {
			return preserveFields(s)
		}
		return repairProperty(s, first.key, path[1:], isRoot)
	case "items":
		if s.Items == nil || s.Items.Schema == nil {
			s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: anything()}
			return true
		}
		// Items that are not what the kind of the list wants may lack what a complaint names.
		return repair(s.Items.Schema, path[1:], false) || mixList(s)
	case "additionalProperties":
		if len(path) > 1 && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			return repair(s.AdditionalProperties.Schema, path[1:], false)
		}
		return without(s, first.name) && preserveFields(s)
	case "type":
		return widen(s, isRoot)
	case "x-kubernetes-validations":
		return strike(s, first.key)
	case "x-kubernetes-list-type", "x-kubernetes-list-map-keys":
		return mixList(s)
	default:
		return without(s, first.name)
	}
}

// resourceFields are the fields that Kubernetes checks itself in each resource, with the types they must have.
var resourceFields = map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"}

func repairProperty(s *apiextensionsv1.JSONSchemaProps, name string, path []step, isRoot bool) bool {
	p, ok := s.Properties[name]
	if t := resourceFields[name]; ok && t != "" && (isRoot || s.XEmbeddedResource) {
		s.Properties[name] = apiextensionsv1.JSONSchemaProps{Type: t, Description: p.Description}
		return true
	}
	if !ok { // It is only named where values are restricted.
		if s.Properties == nil {
			s.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		s.Properties[name] = *anything()
		return true
	}
	done := repair(&p, path, false)
	s.Properties[name] = p
	return done
}

// mixList makes a list one without sets and keys.
func mixList(s *apiextensionsv1.JSONSchemaProps) bool {
	had := s.XListType != nil || s.XListMapKeys != nil
	s.XListType, s.XListMapKeys = nil, nil
	return had
}

// widen lets a value be anything. The root is an object: only what restricts the whole of it goes.
func widen(s *apiextensionsv1.JSONSchemaProps, isRoot bool) bool {
	if isRoot {
		had := len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.Enum) > 0 || s.Not != nil ||
			s.AdditionalProperties != nil || s.Default != nil || s.Type != "object"
		s.Type = "object"
		s.AllOf, s.AnyOf, s.OneOf, s.Enum, s.Not, s.AdditionalProperties, s.Default = nil, nil, nil, nil, nil, nil, nil
		return had
	}
	wide := anything()
	wide.Description = s.Description
	*s = *wide
	return true
}

// preserveFields lets an object have fields that are not described.
func preserveFields(s *apiextensionsv1.JSONSchemaProps) bool {
	had := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	s.XPreserveUnknownFields = new(true)
	return !had
}

// strike empties one rule, given by its index. It keeps its place until the end of the round, so that other
// complaints still find theirs.
func strike(s *apiextensionsv1.JSONSchemaProps, index string) bool {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(s.XValidations) {
		return without(s, "x-kubernetes-validations")
	}
	s.XValidations[i] = apiextensionsv1.ValidationRule{}
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
