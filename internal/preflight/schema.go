package preflight

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// Limits of an API server on the cost of rules, of one and of all of an object:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/apis/cel/config.go
const (
	costOfRule   = 1_000_000
	costOfObject = 10_000_000
)

// A kindSchema is that of one version of a kind of ours, as an API server uses it.
type kindSchema struct {
	fields     *structural.Structural
	validation validation.SchemaValidator
	rules      *cel.Validator // nil if there are none
}

// newSchema compiles the schema of a version of a definition.
func newSchema(d *apiextensionsv1.CustomResourceDefinition, version string) (*kindSchema, error) {
	v := projection.VersionOf(d, version)
	if v == nil || v.Schema == nil {
		return nil, errors.Errorf("CustomResourceDefinition %q has no schema of version %q", d.GetName(), version)
	}
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		v.Schema.OpenAPIV3Schema, props, nil); err != nil {
		return nil, errors.Wrapf(err, "cannot convert the schema of %q", d.GetName())
	}
	s := &kindSchema{}
	var err error
	if s.fields, err = structural.NewStructural(props); err != nil {
		return nil, errors.Wrapf(err, "cannot read the schema of %q", d.GetName())
	}
	if s.validation, _, err = validation.NewSchemaValidator(props); err != nil {
		return nil, errors.Wrapf(err, "cannot compile the schema of %q", d.GetName())
	}
	s.rules = cel.NewValidator(s.fields, true, costOfRule)
	return s, nil
}

// complete gives an object the defaults of the schema.
func (s *kindSchema) complete(u *unstructured.Unstructured) { defaulting.Default(u.Object, s.fields) }

// check returns what an API server would refuse of a new object that has the defaults: each text names a field. The
// texts do not repeat values, which may be secret. The status is not looked at: we write it anew.
func (s *kindSchema) check(ctx context.Context, u *unstructured.Unstructured) []string {
	desired := maps.Clone(u.Object)
	delete(desired, "status")
	wrong := validation.ValidateCustomResource(nil, desired, s.validation)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, s.fields, desired)...)
	if s.rules != nil {
		more, _ := s.rules.Validate(ctx, nil, s.fields, desired, nil, costOfObject)
		wrong = append(wrong, more...)
	}
	var texts []string
	for _, e := range wrong {
		if t := text(e); !slices.Contains(texts, t) {
			texts = append(texts, t)
		}
	}
	slices.Sort(texts)
	return texts
}

// text returns an error without the value.
func text(e *field.Error) string {
	return e.Field + ": " + cmp.Or(e.Detail, strings.ToLower(e.Type.String()))
}

// decode turns an object into a type of ours. An error does not repeat what the object holds.
func decode(u *unstructured.Unstructured, into any) error {
	b, err := json.Marshal(u.Object)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return errors.Errorf("it is no %s of %s", u.GetKind(), u.GetAPIVersion())
	}
	return nil
}
