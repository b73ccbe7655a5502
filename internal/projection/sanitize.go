package projection

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			preserve(v.Schema.OpenAPIV3Schema)
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
			if !found || !repair(v.Schema.OpenAPIV3Schema, parsePath(path), depthRoot) {
				continue
			}
			progress = true
			p.Repairs = append(p.Repairs, fmt.Sprintf("version %s: %s: %s", v.Name, strings.TrimPrefix(path, "."),
				c.Detail))
		}
		if !progress {
			return refused(v.Name, complaints)
		}
		compact(v.Schema.OpenAPIV3Schema)
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
	slices.Sort(messages)
	if more := len(messages) - maxMessages; more > 0 {
		messages = append(messages[:maxMessages], fmt.Sprintf("and %d more", more))
	}
	return failf(InvalidSchema, "kcp would refuse the schema of version %s: %s", version, strings.Join(messages, "; "))
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
