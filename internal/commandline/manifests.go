package commandline

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/publishedresource"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
)

// stdin is the name of the standard input among files.
const stdin = "-"

// A document is one manifest of a file.
type document struct {
	*unstructured.Unstructured

	at  string // the file, and which document of it
	err error  // why there is no manifest
}

// read returns the manifests of a file, with those in lists one by one.
func read(file string, in io.Reader) ([]document, error) {
	if file = cmp.Or(file, stdin); file != stdin { // kingpin makes "" of it.
		f, err := os.Open(file) //nolint:gosec // The caller names it.
		if err != nil {
			return nil, errors.Wrap(err, "cannot read manifests")
		}
		defer f.Close() //nolint:errcheck // It is only read.
		in = f
	}
	var all []document
	r := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for i := 1; ; i++ {
		text, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, errors.Wrapf(err, "cannot read %s", file)
		}
		all = append(all, parse(fmt.Sprintf("%s, document %d", file, i), text)...)
	}
}

// parse returns the manifests of a text: none if there are only comments. Errors quote nothing of it.
func parse(at string, text []byte) (all []document) {
	u := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSONStrict(text)
	switch {
	case err == nil && bytes.Equal(raw, []byte("null")):
		return nil
	case err != nil, u.UnmarshalJSON(raw) != nil:
		return []document{{at: at, err: errors.New("the document is not YAML of a resource, or has a duplicate key")}}
	case !u.IsList():
		return []document{{Unstructured: u, at: at}}
	}
	err = u.EachListItem(func(o runtime.Object) error {
		item, _ := o.(*unstructured.Unstructured) // As all items of such a list.
		doc := document{Unstructured: item, at: at}
		if item.GetKind() == "" {
			doc.err = errors.New("an item has no kind")
		}
		all = append(all, doc)
		return nil
	})
	if err != nil {
		all = append(all, document{at: at, err: errors.New("the items of the list are not resources")})
	}
	return all
}

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
	gk, pr := u.GroupVersionKind().GroupKind(), &publishedv1alpha1.PublishedResource{}
	c := &collectionv1alpha1.ObservedObjectCollection{} // That of the other scope has the same selector.
	decodes := func(into any) bool {
		return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into) == nil
	}
	var wrong []string
	o := newObject(gk)
	switch {
	case o != nil && decodes(o):
		return o, object.Compile(o, d.options.Connections.AllowCrossNamespace)
	case o != nil: // The error quotes values.
		wrong = append(wrong, "the manifest is not an Object of "+u.GetAPIVersion())
	case gk == publishedv1alpha1.PublishedResourceGroupVersionKind.GroupKind() && decodes(pr):
		if all := publishedresource.Compile(pr); all != nil {
			for _, err := range all.Errors() {
				wrong = append(wrong, err.Error())
			}
		}
	case gk.Kind == commonv1.CollectionKind && decodes(c):
		if _, err := metav1.LabelSelectorAsSelector(&c.Spec.ObserveObjects.Selector); err != nil {
			wrong = append(wrong, "spec.observeObjects.selector: "+err.Error())
		}
	}
	return o, wrong
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
