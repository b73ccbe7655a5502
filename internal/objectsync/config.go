package objectsync

import (
	"slices"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
)

// A Resource is an API of one side.
type Resource struct {
	schema.GroupVersionResource

	Kind  string
	Scope v1alpha1.ResourceScope
	// Status reports whether the status is a subresource.
	Status bool
}

func (r Resource) ref(n types.NamespacedName) Ref {
	if r.Scope == v1alpha1.ScopeCluster {
		n.Namespace = ""
	}
	return Ref{
		Group: r.Group, Version: r.Version, Resource: r.Resource, Kind: r.Kind, Namespace: n.Namespace, Name: n.Name,
	}
}

// A Pair is an API on both sides.
type Pair struct {
	Workspace, Service Resource

	// PlatformFields are the paths of fields in which consumers have no say, with dots between their steps, such as
	// spec.crossplane.
	PlatformFields []string
}

// A Config is what a Syncer is made of.
type Config struct {
	Spec *v1alpha1.PublishedResourceSpec
	// Agent is the name of the owner, Publication tells apart who syncs objects for it, and StateNamespace is where on the
	// service cluster the Secrets with states are.
	Agent, Publication, StateNamespace string
	// Primary is the published API. On the service cluster it is of the version from which the one that kcp stores is
	// made.
	Primary Pair
	// Related are the APIs of related resources, by their identifiers.
	Related map[string]Pair
}

// A Syncer syncs the objects of one PublishedResource. It holds what its spec compiles to, and is used by any number of
// goroutines.
type Syncer struct {
	config     Config
	primary    copyRule
	filter     filter
	namer      *naming.Namer
	namespaces namespaceTemplate
	related    []*copyRule
}

// New compiles a spec. An error is a kerrors.Aggregate of what does not compile, each with the path of its field: only
// a change of the spec cures it.
func New(c Config) (*Syncer, error) {
	s := &Syncer{config: c, primary: copyRule{
		from: c.Primary.Workspace, to: c.Primary.Service, origin: v1alpha1.OriginKCP,
		platform: newPlatformFields(c.Primary.PlatformFields),
	}}
	var inFilter, inNaming, inMutation, inNamespaces error
	s.filter, inFilter = newFilter(c.Spec.Filter)
	s.namer, inNaming = naming.New(c.Spec.Naming, c.Primary.Service.Scope)
	s.primary.mutations, inMutation = mutation.New(c.Spec.Mutation, field.NewPath("spec", "mutation"))
	s.namespaces, inNamespaces = newNamespaceTemplate(c.Spec.CreatedNamespaces, c.Agent)
	errs := []error{inFilter, inNaming, inMutation, inNamespaces}
	for i := range c.Spec.Related {
		spec := &c.Spec.Related[i]
		r, err := newCopyRule(spec, field.NewPath("spec", "related").Index(i), c.Related[spec.Name()])
		s.related, errs = append(s.related, r), append(errs, err)
	}
	return s, kerrors.Flatten(kerrors.NewAggregate(errs))
}

// served returns a record in the versions in which its APIs are related by now. One of an API that is not any more
// stays as it is.
func (s *Syncer) served(r Record) Record {
	for _, x := range s.related {
		if x.relates(r) {
			r.From.Version, r.To.Version = x.from.Version, x.to.Version
		}
	}
	return r
}

// outlives reports whether a copy of a related object stays without the object. If its rule has another identifier by
// now, one of its kinds tells. Without any it is not related any more.
func (s *Syncer) outlives(r Record) bool {
	like := slices.DeleteFunc(slices.Clone(s.related), func(x *copyRule) bool { return !x.relates(r) })
	if i := slices.IndexFunc(like, func(x *copyRule) bool { return x.identifier == r.Identifier }); i >= 0 {
		like = like[i : i+1]
	}
	return r.Origin == v1alpha1.OriginService &&
		slices.ContainsFunc(like, func(x *copyRule) bool { return !x.cleanup })
}

// A filter says which objects of consumers are synced.
type filter struct {
	namespace v1alpha1.NamespaceSelection
	objects   labels.Selector // nil for all
}

func newFilter(f *v1alpha1.ResourceFilter) (filter, error) {
	if f == nil {
		return filter{}, nil
	}
	n, err := f.Namespaces()
	if err != nil {
		return filter{}, errors.Wrap(err, "spec.filter.namespace")
	}
	out := filter{namespace: n}
	if f.Resource == nil {
		return out, nil
	}
	out.objects, err = metav1.LabelSelectorAsSelector(f.Resource)
	return out, errors.Wrap(err, "spec.filter.resource")
}
