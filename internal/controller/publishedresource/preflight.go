package publishedresource

import (
	"context"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A Preview is what would be published and synced by a PublishedResource.
type Preview struct {
	// Slice is the name of the APIExportEndpointSlice, and Agent that of the owner. Both are empty if nothing names an
	// APIExport.
	Slice, Agent string
	// Schema is the name of the APIResourceSchema, empty if the definition of the API is not known or of no use.
	Schema string
	// Copies is the resource of the copies, empty if the definition of the API is not known or of no use.
	Copies schema.GroupVersionResource
	// Errs are why it would not be.
	Errs []error
}

// PreviewOf returns what would be published and synced by a PublishedResource with all defaults, as far as its spec,
// its ProviderConfig and the definition of its API say. Each of the last two may be nil if it is not known.
func PreviewOf(o *v1alpha1.PublishedResource, config *commonv1.KCPConnection,
	definition *apiextensionsv1.CustomResourceDefinition,
) Preview {
	p := Preview{}
	note := func(err error) {
		if err != nil {
			p.Errs = append(p.Errs, err)
		}
	}
	verbs := commonv1.ClaimVerbsAll
	if config != nil {
		is, err := planOf(&o.Spec, config)
		note(err)
		p.Slice, p.Agent, verbs = is.slice, is.agent, is.verbs
	}
	_, err := claimsOf(&o.Spec, verbs)
	note(err)
	sync := objectsync.Config{
		Spec: &o.Spec, Agent: p.Agent, Related: relatedPairs(&o.Spec),
		Primary: objectsync.Pair{Service: objectsync.Resource{Scope: v1alpha1.ScopeNamespaced}},
	}
	if definition != nil {
		full, err := project(o, source{definition: definition})
		if err == nil {
			sync.Primary = syncedAPI(definition, full)
			p.Schema, err = full.SchemaName()
		}
		note(err)
	}
	p.Copies = sync.Primary.Service.GroupVersionResource
	_, err = objectsync.New(sync)
	note(err)
	return p
}

// relatedPairs returns the APIs of related resources, as far as a spec tells what they are.
func relatedPairs(spec *v1alpha1.PublishedResourceSpec) map[string]objectsync.Pair {
	out := map[string]objectsync.Pair{}
	for i := range spec.Related {
		r := &spec.Related[i]
		at := func(side v1alpha1.Origin) objectsync.Resource {
			return objectsync.Resource{GroupVersionResource: relatedAt(side, r), Scope: v1alpha1.ScopeNamespaced}
		}
		out[r.Name()] = objectsync.Pair{Workspace: at(v1alpha1.OriginKCP), Service: at(v1alpha1.OriginService)}
	}
	return out
}

// BuiltIn returns the definition of a kind that is built in, nil if the server does not serve it.
func BuiltIn(ctx context.Context, d discovery.DiscoveryInterface,
	gk schema.GroupKind,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	src, err := readBuiltIn(ctx, d, gk)
	if errors.Is(err, errSourceMissing) {
		return nil, nil //nolint:nilnil // None is none.
	}
	return src.definition, err
}
