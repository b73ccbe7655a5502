package publishedresource

import (
	"slices"
	"strings"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// A desiredAPI is what is to be published.
type desiredAPI struct {
	projected

	claims []kcp.Claim
	source source
}

// A projected is what consumers are to see of an API, in short.
type projected struct {
	schema   string // name of the schema
	resource schema.GroupResource
	kind     schema.GroupVersionKind           // in the version that is stored
	pair     objectsync.Pair                   // on both sides
	notes    string                            // what of the source is not published as it is, empty if all is
	has      sets.Set[string]                  // names of schemas, the empty one among them, whose versions it has
	kept     []apisv1alpha1.APIResourceVersion // versions of these that are not published any more
}

func project(o *v1alpha1.PublishedResource, s source) (*projection.Projection, error) {
	p, err := projection.Project(s.definition, &o.Spec)
	return p, errors.Wrap(err, "cannot project the API")
}

// notesMost is how long notes may be in a condition.
const notesMost = 1024

func notesOf(p *projection.Projection) string {
	var notes []string
	if len(p.Skipped) > 0 {
		notes = append(notes, "Not published: "+strings.Join(p.Skipped, "; "))
	}
	if len(p.PlatformFields) > 0 {
		notes = append(notes, "Left to the platform: "+strings.Join(p.PlatformFields, ", "))
	}
	if len(p.Repairs) > 0 {
		notes = append(notes, "Changed so that kcp accepts it: "+strings.Join(p.Repairs, "; "))
	}
	all := strings.Join(notes, ". ")
	if len(all) > notesMost {
		all = strings.ToValidUTF8(all[:notesMost], "") + " …"
	}
	return all
}

// buildSchema returns the schema of an API as it is created.
func buildSchema(o *v1alpha1.PublishedResource, w *desiredAPI, agent string) (*unstructured.Unstructured, error) {
	p, err := project(o, w.source)
	if err == nil {
		err = p.Keep(w.kept)
	}
	if err != nil {
		return nil, err
	}
	ars, err := p.Schema(agent)
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ars)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode APIResourceSchema")
	}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}

// publishedAs returns by which schemas a resource has been published, as the APIExport and the status say.
func (p *pass) publishedAs(r schema.GroupResource) []string {
	names := []string{p.workspace.schemaOf(r)}
	if was, ok := kcp.ResourceOf(p.resource.Status.ResourceSchemaName); ok && was == r {
		names = append(names, p.resource.Status.ResourceSchemaName)
	}
	return names
}

// published returns the resource that consumers see, and whether the APIExport offers it.
func (p *pass) published() (schema.GroupResource, bool) {
	if p.wanted != nil {
		return p.wanted.resource, p.workspace.offers(p.wanted.resource)
	}
	r, ok := kcp.ResourceOf(p.resource.Status.ResourceSchemaName)
	return r, ok && p.workspace.offers(r)
}

// syncedAPI returns a published API on both sides: in the version that kcp stores, and in the version of the source
// that it is made of, which need not be the one that the service cluster stores or even serves.
func syncedAPI(source *apiextensionsv1.CustomResourceDefinition, p *projection.Projection) objectsync.Pair {
	i := slices.IndexFunc(p.Versions, func(v projection.Version) bool { return v.Storage })
	if i < 0 {
		return objectsync.Pair{}
	}
	return objectsync.Pair{
		Workspace: resourceOf(p.CRD, p.Versions[i].Name), Service: resourceOf(source, p.Versions[i].Source),
		PlatformFields: p.PlatformFields,
	}
}

// resourceOf returns a version of what a CustomResourceDefinition defines.
func resourceOf(d *apiextensionsv1.CustomResourceDefinition, version string) objectsync.Resource {
	v := projection.VersionOf(d, version)
	return objectsync.Resource{
		GroupVersionResource: schema.GroupVersionResource{
			Group: d.Spec.Group, Version: version, Resource: d.Spec.Names.Plural,
		},
		Kind:   d.Spec.Names.Kind,
		Scope:  v1alpha1.ResourceScope(d.Spec.Scope),
		Status: v != nil && v.Subresources != nil && v.Subresources.Status != nil,
	}
}
