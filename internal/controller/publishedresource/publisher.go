package publishedresource

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// A publisher keeps APIs published: their schemas, and what APIExports offer and claim.
type publisher struct {
	local       client.Client
	connections *connections
	selects     func(client.Object) bool // reports whether a PublishedResource is this provider's
	memories    *memories
	writer      kcp.Writer
}

// find finds out what is to be published. What is published stays as it is without a source, and with a spec that does
// not compile: consumers still have objects of it.
func (u *publisher) find(ctx context.Context, p *pass) error {
	p.refusal = u.desire(ctx, p)
	r := causeOf(p.refusal).Reason
	stays := r == v1alpha1.ReasonSourceMissing || r == v1alpha1.ReasonInvalidSpec
	if stays && p.resource.Status.ResourceSchemaName != "" {
		p.report(r, p.refusal)
		p.requeueAfter(wokenPoll)
		return nil
	}
	if p.refusal == nil && p.wanted.held != "" {
		p.report(v1alpha1.ReasonIncompatibleChange, errors.New(p.wanted.held))
	}
	return p.refusal
}

// desire finds out what is to be published. The spec is compiled before anything is asked of anybody.
func (u *publisher) desire(ctx context.Context, p *pass) (err error) {
	spec := fmt.Sprintf("%s/%d", p.resource.GetUID(), p.resource.GetGeneration())
	if p.memory.compiled != spec {
		if err := Compile(p.resource); err != nil {
			return errors.Wrap(errInvalidSpec, err.Error())
		}
		p.memory.compiled = spec
	}
	if p.service, p.sourceOwner, err = u.connections.service(ctx, p.resource); err != nil {
		return err
	}
	of := p.resource.Spec.Resource
	src, err := p.memory.source.find(ctx, p.service, p.sourceOwner,
		schema.GroupKind{Group: of.APIGroup, Kind: of.Kind})
	if err != nil {
		return err
	}
	w := &desiredAPI{source: src}
	if w.projected, err = u.project(ctx, p, src); err != nil {
		return err
	}
	w.claims, _ = claimsOf(&p.resource.Spec, p.workspace.plan.verbs) // Compile has returned the error.
	p.wanted = w
	return u.admit(ctx, p, w.resource)
}

// project returns what the spec of a PublishedResource makes of a source and of what has been published, from memory if
// all are as before.
func (u *publisher) project(ctx context.Context, p *pass, s source) (projected, error) {
	m, o := p.memory, p.resource
	as := fmt.Sprintf("%s/%d/%s", o.GetUID(), o.GetGeneration(), s.state)
	if m.projectedAs == as && m.projected.has.HasAll(p.publishedAs(m.projected.resource)...) &&
		(m.projected.held == "" || p.workspace.hasSchema(m.projected.schema)) {
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
	last, err := u.keepVersions(ctx, p, full, &got)
	if err == nil && o.Spec.SchemaUpdates == v1alpha1.SchemaUpdatesCompatible {
		err = hold(p, full, last, s, &got)
	}
	if err != nil {
		return projected{}, err
	}
	m.projected, m.projectedAs = got, as
	return got, nil
}

// keepVersions adds the versions of published schemas to a projection: kcp may store objects in them. In which it does
// is never known, as somebody may just begin to use the API. It returns the schema that was published last, nil if that
// is not known, or has the versions of the projection alone.
func (u *publisher) keepVersions(
	ctx context.Context, p *pass, full *projection.Projection, got *projected,
) (last *apisv1alpha1.APIResourceSchema, err error) {
	published := p.publishedAs(got.resource)
	for _, name := range sets.List(sets.New(published...).Difference(got.has)) {
		s, err := p.workspace.readSchema(ctx, name)
		if err != nil {
			return nil, err
		}
		if s != nil {
			if last == nil || name == p.resource.Status.ResourceSchemaName {
				last = s
			}
			for _, v := range s.Spec.Versions {
				got.kept = append(got.kept, v.Name)
			}
			got.has.Insert(name)
		}
	}
	if !got.has.HasAny(published...) {
		if why := (&consumers{connections: u.connections}).cannotRepublish(ctx, p, full); why != "" {
			return nil, &projection.Error{Reason: projection.InvalidSchema, Message: fmt.Sprintf("APIResourceSchema %q was "+
				"deleted, and %s: restore the APIResourceSchema. To publish the API with its current versions instead, and to "+
				"lose objects in other versions, remove %s from APIExport %q", published[0], why, got.resource,
				p.workspace.plan.export)}
		}
	}
	full.Keep(got.kept...)
	got.schema, err = full.SchemaName()
	got.notes = notesOf(full)
	got.has.Insert(got.schema)
	return last, err
}

// hold has an API stay as it was last published if objects of consumers may not fit what its source is now.
func hold(
	p *pass, full *projection.Projection, last *apisv1alpha1.APIResourceSchema, s source, got *projected,
) (err error) {
	offered, before := p.workspace.schemaOf(got.resource), p.resource.Status.ResourceSchemaName
	switch {
	case got.schema == before, last == nil && (offered == "" || offered == got.schema):
		return nil // It is as it was, or has never been published.
	case last == nil:
		return &projection.Error{Reason: projection.InvalidSchema, Message: fmt.Sprintf("APIResourceSchema %q was deleted, "+
			"so the provider cannot tell whether objects of consumers fit the current API: restore it, or set "+
			"schemaUpdates: All",
			offered)}
	}
	breaks, err := full.Breaks(last)
	if err != nil || breaks == "" {
		return err
	}
	got.held = fmt.Sprintf("APIResourceSchema %q is not published, because objects of consumers may become invalid: %s.  "+
		"Set schemaUpdates: All to publish it", got.schema, breaks)
	stored := storedIn(last)
	got.kind = got.resource.WithVersion(stored).GroupVersion().WithKind(last.Spec.Names.Kind)
	if full.Sources[stored] == "" {
		got.held += ". Objects are not synced: the service cluster no longer serves version " + stored
	}
	got.pair.Service = resourceOf(s.definition, full.Sources[stored])
	got.pair.Workspace, err = described(last, got.resource.WithVersion(stored))
	got.schema = last.Name
	if p.resource.GetCondition(v1alpha1.TypeSchemaPublished).Message != got.held {
		p.record(event.Warning(event.Reason(v1alpha1.ReasonIncompatibleChange), errors.New(got.held)))
	}
	return err
}

// compare compares what is published with what is wanted.
func (u *publisher) compare(ctx context.Context, p *pass) error {
	w := p.workspace
	if p.wanted == nil {
		p.exists, p.upToDate = true, true
		return nil
	}
	if w.export == nil && !w.plan.create {
		p.refusal = errors.Wrapf(kcp.ErrNoExport,
			"cannot publish to APIExport %q", w.plan.export)
	}
	if w.export != nil {
		d := kcp.NewDraft(w.plan.export, w.export)
		p.refusal = u.change(ctx, p)(d)
		p.settled = p.refusal == nil && !d.Changed() && w.hasSchema(p.wanted.schema)
	}
	p.exists, p.upToDate = w.offers(p.wanted.resource), p.settled
	if p.refusal == nil && !p.exists && !policy.Allows(p.resource.GetManagementPolicies(), xpv2.ManagementActionCreate) {
		p.report(commonv1.ReasonResourceMissing,
			errors.New("the API is not published, and management policies do not allow to publish it: allow Create"))
		p.exists, p.upToDate = true, true
	}
	return p.refusal
}

// change returns what the PublishedResource wants of the APIExport.
func (u *publisher) change(ctx context.Context, p *pass) kcp.Change {
	w, plan, before := p.wanted, p.workspace.plan, p.resource.Status.ResourceSchemaName
	return func(d *kcp.Draft) error {
		d.SetDefaultAnnotation(v1alpha1.AnnotationKeyAgentName, plan.agent)
		if !d.Exists() && plan.policy {
			d.SetLocalPolicy()
		}
		// What was published under another name has no consumers any more, or the name could not have changed.
		was, ok := kcp.ResourceOf(before)
		if ok && was != w.resource && d.Schema(was) == before && p.resource.GetDeletionPolicy() == xpv2.DeletionDelete {
			d.RemoveResource(was)
		}
		if err := d.SetSchema(w.resource, w.schema); err != nil {
			return err
		}
		for _, c := range claimsIn(d, w.claims) {
			if err := d.AddClaim(c, func(has kcp.Claim) bool { return u.siblingsNeed(ctx, p, d, has) }); err != nil {
				return err
			}
		}
		return nil
	}
}

// checkWorkspace returns an error if what has been published before is gone because its workspace is being deleted: kcp
// lets it be made again, and could never finish. Nothing is asked of kcp while what has been published is there.
func (u *publisher) checkWorkspace(ctx context.Context, p *pass) error {
	w, before := p.workspace, p.resource.Status.ResourceSchemaName
	if before == "" || w.export != nil && (p.wanted.schema != before || w.hasSchema(before)) {
		return nil
	}
	if deleted, err := w.deleted(ctx); err != nil || !deleted {
		return err
	}
	return errors.Wrap(errWorkspaceDeleted, "cannot publish the API after its schema was deleted")
}

// createSchema makes the schema, unless somebody else just has.
func (u *publisher) createSchema(ctx context.Context, p *pass) error {
	if p.workspace.hasSchema(p.wanted.schema) {
		return nil
	}
	s, err := buildSchema(p.resource, p.wanted, p.workspace.plan.agent)
	if err != nil {
		return err
	}
	_, err = p.workspace.cluster.Resource(kcp.Schemas, "").Create(ctx, s, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		p.refusal = errors.Wrapf(errRefusedSchema, "cannot create APIResourceSchema %q: %v", p.wanted.schema, err)
		return p.refusal
	case err != nil:
		return errors.Wrapf(err, "cannot create APIResourceSchema %q", p.wanted.schema)
	default:
		p.record(event.Normal(reasonSchemaPublished, "Created APIResourceSchema "+p.wanted.schema))
	}
	p.workspace.made = p.wanted.schema
	return nil
}

// export has the APIExport refer to the schema, and claim what is needed. The status has the name of the schema before
// anybody sees the API. The name of another resource stays until that is withdrawn.
func (u *publisher) export(ctx context.Context, p *pass) error {
	o, w, change := p.resource, p.workspace, u.change(ctx, p)
	if was, ok := kcp.ResourceOf(o.Status.ResourceSchemaName); !ok || was == p.wanted.resource {
		now := o.DeepCopy()
		now.Status.ResourceSchemaName = p.wanted.schema
		if err := managedadapter.Save(ctx, u.local, o, now); err != nil {
			return errors.Wrap(targetresource.ErrControlPlane, err.Error())
		}
		o.Status.ResourceSchemaName = p.wanted.schema
		o.SetResourceVersion(now.GetResourceVersion())
	}
	export, err := u.writer.Write(ctx, w.exportClient(), change)
	if err != nil {
		return err
	}
	p.memory.published = time.Now()
	was := w.schemaOf(p.wanted.resource)
	w.export, p.settled = export, true
	if was != p.wanted.schema {
		p.record(event.Normal(reasonExportUpdated,
			"APIExport "+w.plan.export+" offers "+p.wanted.resource.String()+" by schema "+p.wanted.schema))
	}
	return nil
}

// siblings returns the other PublishedResources that are known to publish to the same APIExport. The objects are shared
// with the cache.
func (u *publisher) siblings(ctx context.Context, p *pass) ([]*v1alpha1.PublishedResource, error) {
	list := &v1alpha1.PublishedResourceList{}
	if err := u.local.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, errors.Wrapf(targetresource.ErrControlPlane, "cannot list PublishedResources: %v", err)
	}
	var others []*v1alpha1.PublishedResource
	for i := range list.Items {
		if other := &list.Items[i]; other.GetUID() != p.resource.GetUID() && u.shareExport(p, other) {
			others = append(others, other)
		}
	}
	return others, nil
}

// shareExport reports whether another PublishedResource is known to publish to the same APIExport. It may use another
// ProviderConfig, or belong to another provider whose default ProviderConfig is unknown. Then the endpoints decide:
// their path contains the logical cluster and the name of the APIExport. Without endpoints there are no consumers who
// could miss a claim. The name of an APIExport is not enough, because every kcp may have one of that name.
func (u *publisher) shareExport(p *pass, other *v1alpha1.PublishedResource) bool {
	w, known := p.workspace, other.Spec.ProviderConfigReference != nil || u.selects(other)
	if by := u.connections.publisher; known && by.Ref(other) == by.Ref(p.resource) {
		theirs, err := planOf(&other.Spec, w.connection.Spec.KCP)
		return err == nil && (theirs.export == w.plan.export || other.Status.APIExport == w.plan.export)
	}
	return exportPaths(&p.resource.Status).HasAny(exportPaths(&other.Status).UnsortedList()...)
}

// exportPaths returns the paths of the endpoints of a PublishedResource. Shards differ in the host only.
func exportPaths(s *v1alpha1.PublishedResourceStatus) sets.Set[string] {
	paths := sets.New[string]()
	for _, at := range s.Endpoints {
		if u, err := url.Parse(at.URL); err == nil && u.Path != "" {
			paths.Insert(u.Path)
		}
	}
	return paths
}

// siblingsNeed reports whether another PublishedResource needs a claim of the APIExport. A deleted one no longer needs
// it once its API is withdrawn.
func (u *publisher) siblingsNeed(ctx context.Context, p *pass, d *kcp.Draft, c kcp.Claim) bool {
	others, err := u.siblings(ctx, p)
	return err != nil || slices.ContainsFunc(others, func(other *v1alpha1.PublishedResource) bool {
		if r, ok := kcp.ResourceOf(other.Status.ResourceSchemaName); ok && meta.WasDeleted(other) && d.Schema(r) == "" {
			return false
		}
		theirs, err := claimsOf(&other.Spec, p.workspace.plan.verbs)
		return err != nil || slices.ContainsFunc(theirs, func(x kcp.Claim) bool {
			return x.GroupResource == c.GroupResource && x.IdentityHash == c.IdentityHash
		})
	})
}

// admit returns an error if another PublishedResource offers the resource in the same APIExport.
func (u *publisher) admit(ctx context.Context, p *pass, r schema.GroupResource) error {
	export, name := p.workspace.plan.export, p.resource.GetName()
	holder := ""
	if published, ok := kcp.ResourceOf(p.resource.Status.ResourceSchemaName); !ok || published != r {
		others, err := u.siblings(ctx, p)
		if err != nil {
			return err
		}
		for _, other := range others {
			if theirs, ok := kcp.ResourceOf(other.Status.ResourceSchemaName); ok && theirs == r {
				holder = other.GetName()
			}
		}
	}
	if holder == "" {
		holder = u.memories.claim(exportedResource{p.workspace.cluster.Server(), export, r}, name)
	}
	if holder != name {
		return errors.Wrapf(errTaken, "APIExport %q already offers %s of PublishedResource %q", export, r, holder)
	}
	return nil
}
