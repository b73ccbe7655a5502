package publishedresource

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// An external is the published form of one PublishedResource in kcp, for one pass.
type external struct {
	*connector

	name       string
	owner      informer.Owner
	pass       *pass
	memory     *memory
	connection commonv1.Connection // of the workspace
	cluster    *target.Cluster     // the workspace
	slices     *target.Cluster     // the workspace of the APIExportEndpointSlice
	plan       plan

	desiredAPI *desiredAPI // what is to be published; nil if the source tells nothing
	state      *workspace  // what the workspace has, as last seen
	settled    bool        // the workspace has all that is wanted

	seen      *consumerView  // what the endpoints show; nil if nobody has looked
	consumers []kcp.Consumer // of the view
}

// Observe compares what is published with what should be, and records in the status what it sees.
func (e *external) Observe(ctx context.Context, o *v1alpha1.PublishedResource) (managed.ExternalObservation, error) {
	if meta.WasDeleted(o) {
		exists, err := e.observeDeleted(ctx, o)
		return managed.ExternalObservation{ResourceExists: exists, ResourceUpToDate: true}, e.pass.fail(err)
	}
	obs, err := e.observe(ctx, o)
	return obs, e.pass.fail(err)
}

func (e *external) observe(ctx context.Context, o *v1alpha1.PublishedResource) (managed.ExternalObservation, error) {
	if err := e.look(ctx); err != nil {
		return managed.ExternalObservation{}, err
	}
	var err error
	if e.desiredAPI, err = e.desired(ctx, o); err == nil {
		return e.compare(ctx, o)
	}
	e.describe(o, err)
	if o.Status.ResourceSchemaName == "" || !errors.Is(err, errSourceMissing) {
		return managed.ExternalObservation{}, err
	}
	// What is published stays as it is: consumers still have objects of it. Their copies go with the definition.
	if e.describeObjects(o); e.publications.Status(e.name) == nil {
		o.Status.Objects = nil
	}
	e.pass.report(v1alpha1.ReasonSourceMissing, err)
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, e.observeConsumers(ctx, o)
}

// compare compares what is published with what is wanted.
func (e *external) compare(ctx context.Context, o *v1alpha1.PublishedResource) (managed.ExternalObservation, error) {
	err := e.settle(ctx, o)
	e.describe(o, err)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if err := e.observeConsumers(ctx, o); err != nil {
		return managed.ExternalObservation{}, err
	}
	obs := managed.ExternalObservation{ResourceExists: e.state.offers(e.desiredAPI.resource), ResourceUpToDate: e.settled}
	if !obs.ResourceExists && !policy.Allows(o.GetManagementPolicies(), xpv2.ManagementActionCreate) {
		e.pass.report(commonv1.ReasonResourceMissing,
			errors.New("the API is not published, and management policies do not allow to publish it: allow Create"))
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	if obs.ResourceExists && e.settled {
		if err := e.serve(ctx, o); err != nil {
			return obs, err
		}
		return obs, e.prune(ctx, o)
	}
	return obs, nil
}

// Create publishes the API.
func (e *external) Create(ctx context.Context, o *v1alpha1.PublishedResource) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, e.pass.fail(e.publish(ctx, o))
}

// Update publishes what the API is now.
func (e *external) Update(ctx context.Context, o *v1alpha1.PublishedResource) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.pass.fail(e.publish(ctx, o))
}

// publish makes the schema and has the APIExport refer to it, in this order: kcp stops to update all bindings of an
// APIExport that refers to what does not exist.
func (e *external) publish(ctx context.Context, o *v1alpha1.PublishedResource) error {
	if err := e.checkRecreation(ctx, o); err != nil {
		return err
	}
	if !e.state.hasSchema(e.desiredAPI.schema) {
		if err := e.createSchema(ctx, o); err != nil {
			return err
		}
	}
	change := e.change(ctx, o)
	// Before anybody sees the API. The name of another resource stays until that is withdrawn.
	if was, ok := kcp.ResourceOf(o.Status.ResourceSchemaName); !ok || was == e.desiredAPI.resource {
		now := o.DeepCopy()
		now.Status.ResourceSchemaName = e.desiredAPI.schema
		if err := managedadapter.Save(ctx, e.local, o, now); err != nil {
			return errors.Wrap(errControlPlane, err.Error())
		}
		o.Status.ResourceSchemaName = e.desiredAPI.schema
		o.SetResourceVersion(now.GetResourceVersion())
	}
	export, err := e.writer.Write(ctx, e.exportPlace(), change)
	if err != nil {
		return e.explainClaims(err, o)
	}
	e.memory.published = time.Now()
	was := e.state.schemaOf(e.desiredAPI.resource)
	e.state.export, e.settled = export, true
	e.describe(o, nil)
	if was != e.desiredAPI.schema {
		e.events.Event(o, event.Normal(reasonExportUpdated,
			"APIExport "+e.plan.export+" offers "+e.desiredAPI.resource.String()+" by schema "+e.desiredAPI.schema))
	}
	return e.observeConsumers(ctx, o)
}

// explainClaims adds to a refusal by kcp what may be wrong with the claims to related resources.
func (e *external) explainClaims(err error, o *v1alpha1.PublishedResource) error {
	invalid, lacks := apierrors.IsInvalid(err), kcp.LacksIdentity(err)
	for i := range o.Spec.Related {
		r := &o.Spec.Related[i]
		switch at := relatedAt(v1alpha1.OriginKCP, r).GroupResource(); {
		case invalid:
			err = explain(err, r)
		case lacks && r.IdentityHash == "" && at.Group != "" && !e.state.offers(at):
			err = errors.Wrapf(err, "related resource %q needs identityHash, which is status.identityHash of the "+
				"APIExport that offers %s", r.Name(), at)
		}
	}
	return err
}

// createSchema makes the schema, unless somebody else just has.
func (e *external) createSchema(ctx context.Context, o *v1alpha1.PublishedResource) error {
	s, err := e.buildSchema(o)
	if err != nil {
		return err
	}
	_, err = e.cluster.Resource(kcp.Schemas, "").Create(ctx, s, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		err = errors.Wrapf(errRefusedSchema, "cannot create APIResourceSchema %q: %v", e.desiredAPI.schema, err)
		e.describe(o, err)
		return err
	case err != nil:
		return errors.Wrapf(err, "cannot create APIResourceSchema %q", e.desiredAPI.schema)
	default:
		e.events.Event(o, event.Normal(reasonSchemaPublished, "Created APIResourceSchema "+e.desiredAPI.schema))
	}
	e.state.made = e.desiredAPI.schema
	return nil
}

// Disconnect does nothing: connections are shared, and released with the finalizer.
func (e *external) Disconnect(context.Context) error { return nil }
