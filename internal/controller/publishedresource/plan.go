package publishedresource

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

// errInvalidSpec is the cause of errors that only a change of the spec or of the ClusterProviderConfig can cure.
var errInvalidSpec = errors.New("change the spec or the ClusterProviderConfig")

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
func claimsOf(spec *v1alpha1.PublishedResourceSpec, verbs commonv1.ClaimVerbs) ([]kcp.Claim, error) {
	c := claims{verbs: verbs}
	c.add(schema.GroupResource{Resource: "events"}, "", verbsTell)
	namespaces := len(spec.Related) > 0
	if spec.Filter != nil {
		selection, err := spec.Filter.Namespace.Parse()
		if err != nil {
			return nil, errors.Wrap(errInvalidSpec, err.Error())
		}
		namespaces = namespaces || selection.Labels != nil
	}
	if namespaces {
		c.add(schema.GroupResource{Resource: "namespaces"}, "", append(slices.Clone(verbsRead), "create"))
	}
	if spec.EnableWorkspacePaths {
		c.add(schema.GroupResource{Group: "core.kcp.io", Resource: "logicalclusters"}, "", verbsRead)
	}
	for i := range spec.Related {
		r := &spec.Related[i]
		needed := verbsKeep
		if r.Origin == v1alpha1.OriginKCP {
			needed = verbsFollow
		}
		c.add(relatedAt(v1alpha1.OriginKCP, r).GroupResource(), r.IdentityHash, needed)
	}
	return c.all, c.err
}

// claimsIn returns the claims that an APIExport has to make: not those to what it offers itself.
func claimsIn(d *kcp.Draft, all []kcp.Claim) []kcp.Claim {
	return slices.DeleteFunc(slices.Clone(all), func(c kcp.Claim) bool { return d.Schema(c.GroupResource) != "" })
}

// claims are claims that are being gathered.
type claims struct {
	verbs commonv1.ClaimVerbs
	all   []kcp.Claim
	err   error
}

func (c *claims) add(r schema.GroupResource, identity string, needed []string) {
	if c.verbs != commonv1.ClaimVerbsNeeded {
		needed = verbsAll
	}
	for i := range c.all {
		has := &c.all[i]
		if has.GroupResource != r {
			continue
		}
		if has.IdentityHash != identity {
			c.err = errors.Wrapf(errInvalidSpec, "spec.related has two identityHashes for %s, "+
				"%q and %q, and one APIExport can claim it of one only", r, has.IdentityHash, identity)
		}
		for _, v := range needed {
			if !slices.Contains(has.Verbs, v) {
				has.Verbs = append(has.Verbs, v)
			}
		}
		return
	}
	c.all = append(c.all, kcp.Claim{GroupResource: r, IdentityHash: identity, Verbs: slices.Clone(needed)})
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

// explain adds to an error about a related resource what its sides are, if they may have been taken for each other.
func explain(err error, r *v1alpha1.RelatedResource) error {
	if r.Origin != v1alpha1.OriginKCP || r.Projection == nil {
		return err
	}
	return errors.Wrapf(err, "related resource %q has the origin kcp, "+
		"so its projection says what it is on the service cluster, and its other fields what it is in kcp", r.Name())
}
