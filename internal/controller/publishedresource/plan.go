package publishedresource

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// errInvalidSpec is the cause of errors that only a change of the spec or of the ClusterProviderConfig can cure.
var errInvalidSpec = targetresource.Because(v1alpha1.ReasonInvalidSpec, "change the spec or the ClusterProviderConfig")

// A plan is where an API is published and by whom, as the spec and the ProviderConfig together say.
type plan struct {
	export string // empty if only the endpoint slice tells
	slice  string
	agent  string
	create bool // the APIExport may be created
	policy bool // an APIExport that is created bounds what consumers may do by RBAC of its workspace
	verbs  commonv1.ClaimVerbs
}

// planOf returns the plan. What the spec says about one APIExport is not mixed with what the ProviderConfig says about
// another.
func planOf(spec *v1alpha1.PublishedResourceSpec, config *commonv1.KCPConnection) (plan, error) {
	if config == nil {
		config = &commonv1.KCPConnection{}
	}
	own, shared := commonv1.APIExport{}, commonv1.APIExport{}
	if spec.APIExport != nil {
		own = *spec.APIExport
	}
	if config.APIExport != nil {
		shared = *config.APIExport
	}
	p := plan{
		export: own.Name, slice: own.EndpointSlice,
		verbs: cmp.Or(own.ClaimVerbs, shared.ClaimVerbs, commonv1.ClaimVerbsAll),
	}
	if own.Name == "" && own.EndpointSlice == "" {
		p.export, p.slice = shared.Name, shared.EndpointSlice
	}
	p.slice = cmp.Or(p.slice, p.export)
	if p.slice == "" {
		return p, errors.Wrap(errInvalidSpec,
			"neither spec.apiExport nor spec.kcp.apiExport of the ClusterProviderConfig names an APIExport")
	}
	create := cmp.Or(own.Create, shared.Create)
	p.create = create != nil && *create
	p.policy = own.MaximalPermissionPolicy != nil || shared.MaximalPermissionPolicy != nil
	p.agent = cmp.Or(spec.AgentName, config.AgentName, p.slice+"-syncagent")
	if most := validation.LabelValueMaxLength; len(p.agent) > most { // It is the value of a label.
		end := "-" + gotemplate.SHA1(p.slice)[:8] + "-syncagent"
		p.agent = p.slice[:most-len(end)] + end
	}
	return p, nil
}

// The verbs of claims by what is done with the resources.
var (
	verbsAll    = []string{"*"}
	verbsRead   = []string{"get", "list", "watch"}
	verbsTell   = []string{"create", "patch", "update"}
	verbsFollow = []string{"get", "list", "watch", "patch", "update"}
	verbsKeep   = []string{"get", "list", "watch", "create", "patch", "update", "delete"}
)

// claimsOf returns what the synchronization of a spec needs to do in the workspaces of consumers beside the API itself,
// without repeats.
func claimsOf(spec *v1alpha1.PublishedResourceSpec, verbs commonv1.ClaimVerbs) (all []kcp.Claim, err error) {
	add := func(r schema.GroupResource, identity string, needed []string) {
		if verbs != commonv1.ClaimVerbsNeeded {
			needed = verbsAll
		}
		i := slices.IndexFunc(all, func(c kcp.Claim) bool { return c.GroupResource == r })
		if i < 0 {
			all = append(all, kcp.Claim{GroupResource: r, IdentityHash: identity, Verbs: needed})
			return
		}
		if has := all[i].IdentityHash; has != identity {
			err = errors.Errorf("spec.related has two identityHashes for %s, "+
				"%q and %q: keep one, because an APIExport can claim a resource with one identityHash only", r, has, identity)
		}
		all[i].Verbs = kcp.Widened(all[i].Verbs, needed)
	}
	add(schema.GroupResource{Resource: "events"}, "", verbsTell)
	namespaces := len(spec.Related) > 0
	if spec.Filter != nil {
		selection, _ := spec.Filter.Namespaces() // Compile returns the error.
		namespaces = namespaces || selection.Labels != nil
	}
	if namespaces {
		add(schema.GroupResource{Resource: "namespaces"}, "", append(slices.Clone(verbsRead), "create"))
	}
	if spec.EnableWorkspacePaths {
		add(schema.GroupResource{Group: "core.kcp.io", Resource: "logicalclusters"}, "", verbsRead)
	}
	for i := range spec.Related {
		r := &spec.Related[i]
		needed := verbsKeep
		if r.Origin == v1alpha1.OriginKCP {
			needed = verbsFollow
		}
		add(relatedAt(v1alpha1.OriginKCP, r).GroupResource(), r.IdentityHash, needed)
	}
	return all, err
}

// claimsIn returns the claims that an APIExport has to make: not those to what it offers itself.
func claimsIn(d *kcp.Draft, all []kcp.Claim) []kcp.Claim {
	return slices.DeleteFunc(slices.Clone(all), func(c kcp.Claim) bool { return d.Schema(c.GroupResource) != "" })
}

// relatedAt returns what related objects are on one side. The spec says what they are at their origin, whichever side
// that is, and its projection what they become on the other.
func relatedAt(side v1alpha1.Origin, r *v1alpha1.RelatedResource) schema.GroupVersionResource {
	gvr := schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
	if r.Kind != "" {
		gvr = schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(r.Kind) + "s"}
	}
	if p := r.Projection; p != nil && side != r.Origin {
		gvr = schema.GroupVersionResource{
			Group: cmp.Or(p.Group, gvr.Group), Version: cmp.Or(p.Version, gvr.Version),
			Resource: cmp.Or(p.Resource, gvr.Resource),
		}
	}
	return gvr
}

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
	kind     schema.GroupVersionKind // in the version that is stored
	pair     objectsync.Pair         // on both sides
	notes    string                  // what of the source is not published as it is, empty if all is
	has      sets.Set[string]        // names of schemas, the empty one among them, whose versions it has
	kept     []string                // versions of these
	held     string                  // why the schema is not that of the source, empty if it is
}

func project(o *v1alpha1.PublishedResource, s source) (*projection.Projection, error) {
	p, err := projection.Project(s.definition, &o.Spec)
	return p, errors.Wrap(err, "cannot project the API")
}

// notesMost is how long notes may be in a condition.
const notesMost = 1024

func notesOf(p *projection.Projection) string {
	var notes []string
	if len(p.Losses) > 0 {
		notes = append(notes, "Lost in versions other than "+p.Kind().Version+", because kcp does not convert objects: "+
			strings.Join(p.Losses, "; ")+": publish one version by spec.resource.versions")
	}
	if len(p.Skipped) > 0 {
		notes = append(notes, "Not published: "+strings.Join(p.Skipped, "; "))
	}
	if len(p.PlatformFields) > 0 {
		notes = append(notes, "Not published, because Crossplane sets them: "+strings.Join(p.PlatformFields, ", "))
	}
	if len(p.Repairs) > 0 {
		notes = append(notes, "Changed so that kcp accepts it: "+strings.Join(p.Repairs, "; "))
	}
	return managedadapter.Clip(strings.Join(notes, ". "), notesMost)
}

// buildSchema returns the schema of an API as it is created.
func buildSchema(o *v1alpha1.PublishedResource, w *desiredAPI, agent string) (*unstructured.Unstructured, error) {
	p, err := project(o, w.source)
	if err != nil {
		return nil, err
	}
	p.Keep(w.kept...)
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

// syncedAPI returns a published API on both sides: in the version that kcp stores, and in the version of the source
// that it is made of, which need not be the one that the service cluster stores or even serves.
func syncedAPI(source *apiextensionsv1.CustomResourceDefinition, p *projection.Projection) objectsync.Pair {
	stored := p.Kind().Version
	return objectsync.Pair{
		Workspace: resourceOf(p.CRD, stored), Service: resourceOf(source, p.Sources[stored]),
		PlatformFields: p.PlatformFields,
	}
}

// resourceOf returns a version of what a CustomResourceDefinition defines.
func resourceOf(d *apiextensionsv1.CustomResourceDefinition, version string) objectsync.Resource {
	has, _ := apihelpers.GetSubresourcesForVersion(d, version)
	return objectsync.Resource{
		GroupVersionResource: schema.GroupVersionResource{
			Group: d.Spec.Group, Version: version, Resource: d.Spec.Names.Plural,
		},
		Kind:   d.Spec.Names.Kind,
		Scope:  v1alpha1.ResourceScope(d.Spec.Scope),
		Status: has != nil && has.Status != nil,
	}
}

// Compile returns what of a PublishedResource cannot work, whatever servers and its ProviderConfig say, nil if all can:
// CEL expressions, templates, paths, regular expressions and selectors that do not compile, among others. Each error
// begins with the path of its field. It asks nobody.
func Compile(o *v1alpha1.PublishedResource) kerrors.Aggregate {
	_, claims := claimsOf(&o.Spec, commonv1.ClaimVerbsAll)
	_, texts := objectsync.New(objectsync.Config{Spec: &o.Spec})
	return kerrors.Flatten(kerrors.NewAggregate([]error{claims, texts}))
}

// AgentName returns the owner of what a PublishedResource publishes, as its spec and its ProviderConfig say.
func AgentName(o *v1alpha1.PublishedResource, config *commonv1.KCPConnection) (string, error) {
	p, err := planOf(&o.Spec, config)
	return p.agent, err
}

// SchemaName returns the name of the APIResourceSchema that a PublishedResource makes of a definition of its API.
func SchemaName(o *v1alpha1.PublishedResource, d *apiextensionsv1.CustomResourceDefinition) (string, error) {
	p, err := project(o, source{definition: d})
	if err != nil {
		return "", err
	}
	return p.SchemaName()
}
