package projection

import (
	"regexp"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// types are those that a value can have.
var types = []string{"array", "boolean", "integer", "number", "object", "string"}

// depth says where in a schema a repair is made.
type depth int

const (
	depthRoot depth = iota
	depthBelow
)

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
func repair(s *apiextensionsv1.JSONSchemaProps, path []step, at depth) bool {
	if len(path) == 0 {
		return widen(s, at)
	}
	switch first := path[0]; first.name {
	case "properties":
		if first.key == "" {
			return preserveFields(s)
		}
		return repairProperty(s, first.key, path[1:], at)
	case "items":
		if s.Items == nil || s.Items.Schema == nil {
			s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: anything()}
			return true
		}
		if misfits(s, path) {
			s.XListType, s.XListMapKeys = nil, nil
			return true
		}
		return repair(s.Items.Schema, path[1:], depthBelow)
	case "additionalProperties":
		if s.AdditionalProperties == nil || s.AdditionalProperties.Schema == nil {
			return without(s, "additionalProperties") && preserveFields(s)
		}
		if len(path) == 1 && len(s.Properties) > 0 { // Both cannot be.
			s.AdditionalProperties = nil
			return preserveFields(s)
		}
		return repair(s.AdditionalProperties.Schema, path[1:], depthBelow)
	case "type":
		return retype(s, at)
	case "x-kubernetes-validations":
		return strike(s, first.key)
	case "x-kubernetes-list-type", "x-kubernetes-list-map-keys":
		had := s.XListType != nil || s.XListMapKeys != nil
		s.XListType, s.XListMapKeys = nil, nil
		return had
	default:
		return without(s, first.name)
	}
}

// resourceFields are the fields that Kubernetes checks itself in each resource, with the types they must have.
var resourceFields = map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"}

func repairProperty(s *apiextensionsv1.JSONSchemaProps, name string, path []step, at depth) bool {
	p, ok := s.Properties[name]
	if t := resourceFields[name]; ok && t != "" && (at == depthRoot || s.XEmbeddedResource) {
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
	done := repair(&p, path, depthBelow)
	s.Properties[name] = p
	return done
}

// misfits reports whether a complaint is that the items of a list are not what the kind of the list wants: items of a
// set that are not atomic, or a key of a map that may be absent.
func misfits(s *apiextensionsv1.JSONSchemaProps, path []step) bool {
	if s.XListType != nil && *s.XListType == "set" && len(path) == 2 {
		return path[1].name == "x-kubernetes-map-type" || path[1].name == "x-kubernetes-list-type"
	}
	if s.XListMapKeys == nil || len(path) != 3 || path[1].name != "properties" || path[2].name != "default" {
		return false
	}
	return slices.Contains(s.XListMapKeys, path[1].key) && s.Items.Schema.Properties[path[1].key].Default == nil
}

// widen lets a value be anything. At the root only what restricts the whole object goes.
func widen(s *apiextensionsv1.JSONSchemaProps, at depth) bool {
	if at == depthRoot {
		had := len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.Enum) > 0 || s.Not != nil ||
			s.AdditionalProperties != nil || s.Default != nil
		s.AllOf, s.AnyOf, s.OneOf, s.Enum, s.Not, s.AdditionalProperties, s.Default = nil, nil, nil, nil, nil, nil, nil
		return had
	}
	wide := anything()
	wide.Description = s.Description
	*s = *wide
	return true
}

// retype gives a value the type its other keywords tell, or lets it be anything.
func retype(s *apiextensionsv1.JSONSchemaProps, at depth) bool {
	was := s.Type
	switch {
	case at == depthRoot, len(s.Properties) > 0, s.AdditionalProperties != nil, s.XEmbeddedResource:
		s.Type = "object"
	case s.Items != nil && s.Items.Schema != nil:
		s.Type = "array"
	case s.Type == "" || !slices.Contains(types, s.Type) || s.XPreserveUnknownFields != nil:
		return widen(s, at)
	case s.XIntOrString:
		s.Type = ""
	}
	return s.Type != was || widen(s, at)
}

// preserveFields lets an object have fields that are not described.
func preserveFields(s *apiextensionsv1.JSONSchemaProps) bool {
	had := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	s.XPreserveUnknownFields = new(true)
	return !had
}

// strike empties one rule, given by its index. It keeps its place until compact, so that other complaints still find
// theirs.
func strike(s *apiextensionsv1.JSONSchemaProps, index string) bool {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(s.XValidations) {
		return without(s, "x-kubernetes-validations")
	}
	s.XValidations[i] = apiextensionsv1.ValidationRule{}
	return true
}

// compact takes away empty rules.
func compact(s *apiextensionsv1.JSONSchemaProps) {
	walk(s, func(s *apiextensionsv1.JSONSchemaProps) {
		s.XValidations = slices.DeleteFunc(s.XValidations,
			func(r apiextensionsv1.ValidationRule) bool { return r.Rule == "" })
		if len(s.XValidations) == 0 {
			s.XValidations = nil
		}
	})
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

// preserve lets each object of a schema have fields that are not described.
func preserve(s *apiextensionsv1.JSONSchemaProps) {
	walk(s, func(s *apiextensionsv1.JSONSchemaProps) {
		if s.Type == "object" && s.AdditionalProperties == nil {
			s.XPreserveUnknownFields = new(true)
		}
	})
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
