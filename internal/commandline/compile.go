package commandline

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/publishedresource"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
)

// definitionOf returns the definition of the kind of a manifest, nil if the kind is not ours.
func (d *differ) definitionOf(u *unstructured.Unstructured) *apiextensionsv1.CustomResourceDefinition {
	gvk := u.GroupVersionKind()
	for _, c := range d.definitions {
		if c.Spec.Group == gvk.Group && c.Spec.Names.Kind == gvk.Kind {
			return c
		}
	}
	return nil
}

// compile completes a manifest of ours by our schema, and returns what is wrong with it wherever it is used, each with
// its field. Of an Object it returns the Object.
func (d *differ) compile(ctx context.Context, u *unstructured.Unstructured,
	of *apiextensionsv1.CustomResourceDefinition,
) (object.Object, []string) {
	s, err := preflight.NewSchema(of, u.GroupVersionKind().Version)
	if err != nil {
		return nil, []string{err.Error()}
	}
	var wrong []string
	for _, field := range s.Unknown(u) {
		wrong = append(wrong, field+": the field does not exist")
	}
	s.Complete(u)
	wrong = append(wrong, s.Check(ctx, u)...)
	o, more := d.compileTexts(u)
	return o, append(wrong, more...)
}

// compileTexts returns what is wrong with the queries, templates, paths and selectors of a manifest of ours.
func (d *differ) compileTexts(u *unstructured.Unstructured) (object.Object, []string) {
	gk, pr, c := u.GroupVersionKind().GroupKind(), &publishedv1alpha1.PublishedResource{}, collection{}
	decodes := func(into any) bool {
		return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into) == nil
	}
	var wrong []string
	o := newObject(gk)
	switch {
	case o != nil && decodes(o):
		return o, d.compileObject(o)
	case o != nil: // The error quotes values.
		wrong = append(wrong, "the manifest is not an Object of "+u.GetAPIVersion())
	case gk == publishedv1alpha1.PublishedResourceGroupVersionKind.GroupKind() && decodes(pr):
		if all := publishedresource.Compile(pr); all != nil {
			for _, err := range all.Errors() {
				wrong = append(wrong, err.Error())
			}
		}
	case gk.Kind == commonv1.CollectionKind && decodes(&c):
		if _, err := metav1.LabelSelectorAsSelector(&c.Spec.ObserveObjects.Selector); err != nil {
			wrong = append(wrong, "spec.observeObjects.selector: "+err.Error())
		}
	}
	return o, wrong
}

// A collection is what is looked at of an ObservedObjectCollection of either scope.
type collection struct {
	Spec struct {
		ObserveObjects commonv1.ObserveObjects `json:"observeObjects"`
	} `json:"spec"`
}

// newObject returns an empty Object of a kind, nil if it is another kind.
func newObject(gk schema.GroupKind) object.Object {
	switch gk {
	case objectv1alpha2.ObjectGroupVersionKind.GroupKind():
		return &objectv1alpha2.Object{}
	case mobjectv1alpha1.ObjectGroupVersionKind.GroupKind():
		return &mobjectv1alpha1.Object{}
	}
	return nil
}

// compileObject returns what is wrong with the queries and paths of an Object.
func (d *differ) compileObject(o object.Object) (wrong []string) {
	spec := o.Desired()
	if q := spec.Readiness.CelQuery; q != "" {
		if err := readiness.CheckQuery(q); err != nil {
			wrong = append(wrong, "spec.readiness.celQuery: "+err.Error())
		}
	}
	if err := object.CheckIgnoreFields(o); err != nil {
		wrong = append(wrong, err.Error())
	}
	for _, r := range reference.Normalise(spec, reference.Rules{
		Namespace: o.GetNamespace(), CrossNamespace: d.options.Connections.AllowCrossNamespace,
	}) {
		if r.Err != nil {
			wrong = append(wrong, r.Err.Error())
		}
	}
	return wrong
}
