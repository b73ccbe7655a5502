package projection

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// refPrefix precedes the name of a schema in a reference to it.
const refPrefix = "#/components/schemas/"

// zeroes are the values Go has where nothing is said, by type.
var zeroes = map[string]string{"string": `""`, "integer": `0`, "boolean": `false`}

// inline returns a schema with what it refers to in place of its references. Schemas that are being inlined are open:
// they are not entered again, so that a type that contains itself comes to an end.
func (d document) inline(s apiextensionsv1.JSONSchemaProps, open map[string]bool) apiextensionsv1.JSONSchemaProps {
	if name, ok := reference(s); ok {
		return d.follow(s, name, open)
	}
	for name, p := range s.Properties {
		s.Properties[name] = d.inline(p, open)
	}
	if s.Items != nil && s.Items.Schema != nil {
		s.Items.Schema = new(d.inline(*s.Items.Schema, open))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		s.AdditionalProperties.Schema = new(d.inline(*s.AdditionalProperties.Schema, open))
	}
	return adapt(keyed(s))
}

// keyed gives the keys of a list that is a map the default that Go has for them, if they may be absent: a definition
// wants them to be there.
func keyed(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	if s.Items == nil || s.Items.Schema == nil {
		return s
	}
	item := s.Items.Schema
	for _, key := range s.XListMapKeys {
		p, ok := item.Properties[key]
		zero, scalar := zeroes[p.Type]
		if !ok || !scalar || p.Default != nil || slices.Contains(item.Required, key) {
			continue
		}
		p.Default = &apiextensionsv1.JSON{Raw: []byte(zero)}
		item.Properties[key] = p
	}
	return s
}

// follow returns what a reference refers to, with what is said beside the reference.
func (d document) follow(s apiextensionsv1.JSONSchemaProps, name string,
	open map[string]bool,
) apiextensionsv1.JSONSchemaProps {
	target, known := d.schemas[name]
	var out apiextensionsv1.JSONSchemaProps
	switch {
	case !known:
		out = *anything()
	case open[name] && target.Type == "object":
		out = *anyObject()
	case open[name]:
		out = *anything()
	default:
		inner := maps.Clone(open)
		inner[name] = true
		out = d.inline(*target.DeepCopy(), inner)
	}
	s.Ref, s.AllOf = nil, nil
	return adapt(overlay(out, s))
}

// reference returns the name of the schema that a schema refers to, by itself or as the only part of allOf.
func reference(s apiextensionsv1.JSONSchemaProps) (string, bool) {
	if s.Ref == nil && len(s.AllOf) == 1 {
		s = s.AllOf[0]
	}
	if s.Ref == nil {
		return "", false
	}
	return strings.CutPrefix(*s.Ref, refPrefix)
}

// overlay returns a schema with the keywords that another one has.
func overlay(s, with apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	out := s.DeepCopy()
	b, err := json.Marshal(with)
	if err != nil || json.Unmarshal(b, out) != nil {
		return s
	}
	return *out
}

// adapt says in the words of a CustomResourceDefinition what OpenAPI says in others.
func adapt(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	if s.Default != nil && zero(s.Default.Raw) {
		s.Default = nil
	}
	if s.Type == "" && len(s.Properties) > 0 {
		s.Type = "object"
	}
	switch {
	case s.Format == "int-or-string" || isIntOrString(s.OneOf):
		s.Type, s.Format, s.OneOf, s.XIntOrString = "", "", nil, true
	case s.Type == "object" && s.Properties == nil && s.AdditionalProperties == nil:
		s.XPreserveUnknownFields = new(true)
	case s.Type == "" && !s.XIntOrString:
		s.XPreserveUnknownFields = new(true)
	}
	return s
}

// zero reports whether a default is only what Go has where nothing is said.
func zero(value []byte) bool {
	v := string(bytes.TrimSpace(value))
	return v == "{}" || v == "null" || slices.Contains(slices.Collect(maps.Values(zeroes)), v)
}

// isIntOrString reports whether a value is a text or a number.
func isIntOrString(choices []apiextensionsv1.JSONSchemaProps) bool {
	text := false
	for _, c := range choices {
		switch c.Type {
		case "string":
			text = true
		case "integer", "number":
		default:
			return false
		}
	}
	return text
}
