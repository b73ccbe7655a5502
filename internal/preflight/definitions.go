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
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// groupOfPackages is the API group of Crossplane's package manager.
const groupOfPackages = "pkg.crossplane.io"

// judgeDefinition adds what becomes of a CustomResourceDefinition that ours is put in the place of.
func judgeDefinition(t *tally, is, ours *apiextensionsv1.CustomResourceDefinition) {
	before := t.total
	judgeConversion(t, is)
	judgeStoredVersions(t, is, ours)
	if is.GetDeletionTimestamp() != nil {
		t.add(refused("CustomResourceDefinition that is being deleted", "all objects of the kind are deleted with it",
			"wait until it is deleted, or stop the deletion, before the migration"), is.GetName())
	}
	if t.total == before {
		t.add(kept("CustomResourceDefinition"), is.GetName())
	}
}

// judgeConversion adds what becomes of a webhook of the former provider that converts versions. Nobody answers it after
// the takeover, and objects of the other version cannot be read.
func judgeConversion(t *tally, is *apiextensionsv1.CustomResourceDefinition) {
	c := is.Spec.Conversion
	if c == nil || c.Strategy != apiextensionsv1.WebhookConverter {
		return
	}
	const what = "CustomResourceDefinition with spec.conversion.strategy: Webhook"
	if byPackage(is.GetOwnerReferences()) {
		t.add(differs(what, "the versions of this provider need no webhook, and Crossplane replaces the definition with "+
			"that of the package"),
			is.GetName())
		return
	}
	t.add(refused(what,
		"the versions of this provider need no webhook, but a server-side apply of the new definition does not remove the "+
			"field of another manager",
		"when provider-kubernetes is stopped: kubectl patch crd "+is.GetName()+
			` --type=merge -p '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'`), is.GetName())
}

func byPackage(owners []metav1.OwnerReference) bool {
	return slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		return group == groupOfPackages
	})
}

// judgeStoredVersions adds what becomes of objects that may be stored in another version than ours are.
func judgeStoredVersions(t *tally, is, ours *apiextensionsv1.CustomResourceDefinition) {
	for _, stored := range is.Status.StoredVersions {
		switch v := projection.VersionOf(ours, stored); {
		case v == nil:
			t.add(refused("CustomResourceDefinition with objects stored as "+stored,
				"this provider has no such version, and the API server rejects a definition without a stored version",
				"write each object once, and remove the version from status.storedVersions"), is.GetName())
		case !v.Storage:
			t.add(differs("CustomResourceDefinition with objects that may be stored as "+stored,
				"the objects stay readable: the versions of this provider have the same fields"), is.GetName())
		}
	}
}

// Limits of an API server on the cost of rules, of one and of all of an object:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/apis/cel/config.go
const (
	costOfRule   = 1_000_000
	costOfObject = 10_000_000
)

// A Schema is that of one version of a kind of ours, as an API server uses it.
type Schema struct {
	fields     *structural.Structural
	validation validation.SchemaValidator
	rules      *cel.Validator // nil if there are none
}

// NewSchema compiles the schema of a version of a definition.
func NewSchema(d *apiextensionsv1.CustomResourceDefinition, version string) (*Schema, error) {
	v := projection.VersionOf(d, version)
	if v == nil || v.Schema == nil {
		return nil, errors.Errorf("CustomResourceDefinition %q has no schema of version %q", d.GetName(), version)
	}
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		v.Schema.OpenAPIV3Schema, props, nil); err != nil {
		return nil, errors.Wrapf(err, "cannot convert the schema of %q", d.GetName())
	}
	s := &Schema{}
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

// Complete gives an object the defaults of the schema.
func (s *Schema) Complete(u *unstructured.Unstructured) { defaulting.Default(u.Object, s.fields) }

// Unknown returns the fields of an object that the schema does not have, which an API server would drop.
func (s *Schema) Unknown(u *unstructured.Unstructured) []string {
	return pruning.PruneWithOptions(runtime.DeepCopyJSON(u.Object), s.fields, true,
		structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// Check returns what an API server would refuse of a new object that has the defaults: each text names a field. The
// texts do not repeat values, which may be secret. The status is not looked at: we write it anew.
func (s *Schema) Check(ctx context.Context, u *unstructured.Unstructured) []string {
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
		return errors.Errorf("it is not a %s of %s", u.GetKind(), u.GetAPIVersion())
	}
	return nil
}
