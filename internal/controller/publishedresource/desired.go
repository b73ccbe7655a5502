package publishedresource

import (
	"context"
	"fmt"
	"slices"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
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

// project returns what the spec of a PublishedResource makes of a source and of what has been published, from memory if
// all are as before.
func (e *external) project(ctx context.Context, o *v1alpha1.PublishedResource, s source) (projected, error) {
	m, as := e.memory, fmt.Sprintf("%s/%d/%s", o.GetUID(), o.GetGeneration(), s.state)
	if m.projectedAs == as && m.projected.has.HasAll(e.publishedAs(o, m.projected.resource)...) {
		return m.projected, nil
	}
	full, err := project(o, s)
	if err != nil {
		return projected{}, err
	}
	name, _ := full.SchemaName() // An error comes again.
	got := projected{
		resource: full.Resource(), kind: full.Kind(), pair: syncedAPI(s.definition, full), has: sets.New("", name),
	}
	if err := e.keep(ctx, full, &got, e.publishedAs(o, got.resource)); err != nil {
		return projected{}, err
	}
	m.projected, m.projectedAs = got, as
	return got, nil
}

// publishedAs returns by which schemas a resource has been published, as the APIExport and the status say.
func (e *external) publishedAs(o *v1alpha1.PublishedResource, r schema.GroupResource) []string {
	names := []string{e.state.schemaOf(r)}
	if was, ok := kcp.ResourceOf(o.Status.ResourceSchemaName); ok && was == r {
		names = append(names, o.Status.ResourceSchemaName)
	}
	return names
}

// keep adds the versions of published schemas to a projection: kcp may store objects in them. In which it does is never
// known, as somebody may just begin to use the API.
func (e *external) keep(ctx context.Context, p *projection.Projection, got *projected, published []string) error {
	for _, name := range sets.List(sets.New(published...).Difference(got.has)) {
		s, err := e.readSchema(ctx, name)
		if err != nil {
			return err
		}
		if s != nil {
			got.kept = append(got.kept, s.Spec.Versions...)
			got.has.Insert(name)
		}
	}
	if !got.has.HasAny(published...) {
		return &projection.Error{Reason: projection.InvalidSchema, Message: fmt.Sprintf("APIResourceSchema %q is gone, "+
			"so that it is not known in which versions kcp stores objects: restore it. Without %s in APIExport %q the API is "+
			"published anew, and objects of other versions are lost", published[0], got.resource, e.plan.export)}
	}
	got.kept = slices.DeleteFunc(got.kept,
		func(v apisv1alpha1.APIResourceVersion) bool { return projection.Serves(p.CRD, v.Name) })
	err := p.Keep(got.kept)
	if err == nil {
		got.schema, err = p.SchemaName()
	}
	got.notes = notesOf(p)
	got.has.Insert(got.schema)
	return err
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

// desired finds out what is to be published.
func (e *external) desired(ctx context.Context, o *v1alpha1.PublishedResource) (*desiredAPI, error) {
	service, owner, err := e.service(ctx, o)
	if err != nil {
		return nil, err
	}
	src, err := e.catalogueOf(service).find(ctx, service, owner,
		schema.GroupKind{Group: o.Spec.Resource.APIGroup, Kind: o.Spec.Resource.Kind})
	if err != nil {
		return nil, err
	}
	w := &desiredAPI{source: src}
	if w.projected, err = e.project(ctx, o, src); err != nil {
		return nil, err
	}
	if w.claims, err = claimsOf(&o.Spec, e.plan.verbs); err != nil {
		return nil, err
	}
	return w, e.admit(ctx, o, w.resource)
}

// admit returns an error if another PublishedResource offers the resource in the same APIExport.
func (e *external) admit(ctx context.Context, o *v1alpha1.PublishedResource, r schema.GroupResource) error {
	place, holder := exportedResource{server: e.cluster.Server(), export: e.plan.export, resource: r}, ""
	if published, ok := kcp.ResourceOf(o.Status.ResourceSchemaName); !ok || published != r {
		others, err := e.siblings(ctx, o)
		if err != nil {
			return err
		}
		for _, other := range others {
			if theirs, ok := kcp.ResourceOf(other.Status.ResourceSchemaName); ok && theirs == r {
				e.memories.await(place, e.name)
				holder = other.GetName()
			}
		}
	}
	if holder == "" {
		holder = e.memories.claim(place, e.name)
	}
	if holder != e.name {
		return errors.Wrapf(errTaken, "APIExport %q has %s of PublishedResource %q", e.plan.export, r, holder)
	}
	return nil
}

// buildSchema returns the schema as it is created.
func (e *external) buildSchema(o *v1alpha1.PublishedResource) (*unstructured.Unstructured, error) {
	p, err := project(o, e.desiredAPI.source)
	if err == nil {
		err = p.Keep(e.desiredAPI.kept)
	}
	if err != nil {
		return nil, err
	}
	ars, err := p.Schema(e.plan.agent)
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

// change returns what the PublishedResource wants of the APIExport.
func (e *external) change(ctx context.Context, o *v1alpha1.PublishedResource) kcp.Change {
	w, before := e.desiredAPI, o.Status.ResourceSchemaName
	return func(d *kcp.Draft) error {
		d.SetDefaultAnnotation(v1alpha1.AnnotationKeyAgentName, e.plan.agent)
		if !d.Exists() && e.plan.policy {
			if err := d.SetLocalPolicy(); err != nil {
				return err
			}
		}
		// What was published under another name has no consumers any more, or the name could not have changed.
		was, ok := kcp.ResourceOf(before)
		if ok && was != w.resource && d.Schema(was) == before && o.GetDeletionPolicy() == xpv2.DeletionDelete {
			if err := d.RemoveResource(was); err != nil {
				return err
			}
		}
		if err := d.SetSchema(w.resource, w.schema); err != nil {
			return err
		}
		for _, c := range claimsIn(d, w.claims) {
			if err := d.AddClaim(c, func(has kcp.Claim) bool { return e.keptBySiblings(ctx, o, d, has) }); err != nil {
				return err
			}
		}
		return nil
	}
}

// claimsIn returns the claims that an APIExport has to make: not those to what it offers itself.
func claimsIn(d *kcp.Draft, all []kcp.Claim) []kcp.Claim {
	return slices.DeleteFunc(slices.Clone(all), func(c kcp.Claim) bool { return d.Schema(c.GroupResource) != "" })
}

// settle finds out whether the workspace has all that is wanted.
func (e *external) settle(ctx context.Context, o *v1alpha1.PublishedResource) error {
	if e.state.export == nil {
		if !e.plan.create {
			return errors.Wrapf(kcp.ErrNoExport,
				"cannot publish to APIExport %q, which spec.apiExport.create would make", e.plan.export)
		}
		return nil
	}
	d := kcp.NewDraft(e.plan.export, e.state.export)
	err := e.change(ctx, o)(d)
	e.settled = err == nil && !d.Changed() && e.state.hasSchema(e.desiredAPI.schema)
	return err
}
