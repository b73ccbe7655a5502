package projection

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// maxWarning is how long a warning about a version may be.
const maxWarning = 256

// findLosses finds the fields that are lost, as kcp stores all objects in one version and converts none. A server warns
// who uses a version with such fields.
func (p *Projection) findLosses() {
	stored := p.Kind().Version
	for i := range p.CRD.Spec.Versions {
		v := &p.CRD.Spec.Versions[i]
		fields := differing("", v.Schema.OpenAPIV3Schema, VersionOf(p.CRD, stored).Schema.OpenAPIV3Schema)
		if len(fields) == 0 {
			continue
		}
		lost := firstOf(fields, ", ")
		p.Losses = append(p.Losses, v.Name+": "+lost)
		warning := fmt.Sprintf("use version %s, in which objects are stored: version %s loses %s", stored, v.Name, lost)
		v.Deprecated = true
		v.DeprecationWarning = new(strings.ToValidUTF8(warning[:min(maxWarning, len(warning))], ""))
	}
}

// differing returns the paths of the fields that only one of two schemas of a value has, unless the other takes any.
func differing(path string, a, b *apiextensionsv1.JSONSchemaProps) (paths []string) {
	if a.Type != b.Type && !isOpen(a) && !isOpen(b) {
		return []string{path}
	}
	for _, x := range [][2]*apiextensionsv1.JSONSchemaProps{{a, b}, {b, a}} {
		for name, one := range x[0].Properties {
			if path == "" && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
				continue
			}
			at := strings.TrimPrefix(path+"."+name, ".")
			other, both := x[1].Properties[name]
			switch {
			case both && x[0] == a:
				paths = append(paths, differing(at, &one, &other)...)
			case !both && !isOpen(x[1]):
				paths = append(paths, at)
			}
		}
	}
	if a.Items != nil && b.Items != nil && a.Items.Schema != nil && b.Items.Schema != nil {
		paths = append(paths, differing(path+"[]", a.Items.Schema, b.Items.Schema)...)
	}
	if x, y := a.AdditionalProperties, b.AdditionalProperties; x != nil && y != nil && x.Schema != nil && y.Schema != nil {
		paths = append(paths, differing(path+".*", x.Schema, y.Schema)...)
	}
	return paths
}

// isOpen reports whether a schema takes fields that it does not name.
func isOpen(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields || s.AdditionalProperties != nil
}
