package publishedresource

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/publication"
)

// DefaultStateNamespace is the namespace with the states of PublishedResources if neither they nor an option name one.
const DefaultStateNamespace = "crossplane-system"

// errStillHeld means that objects of consumers may still have our finalizer.
var errStillHeld = errors.New("some objects may still have the finalizer")

// A syncing has the objects of consumers synced.
type syncing struct {
	publications   *publication.Supervisor
	stateNamespace string // where states are if a spec does not say
}

// serve has the objects of consumers synced, and records in the status how far that is. What is not known yet stays as
// it is.
func (s *syncing) serve(ctx context.Context, p *pass) error {
	o := p.resource
	switch {
	case p.wanted == nil, p.wanted.pair.Service.Version == "":
		// The copies go with their definition, or objects wait for a version of it.
		if known := s.describe(p); !known {
			o.Status.Objects = nil
		}
		return nil
	case isSyncStopped(o), !p.workspace.offers(p.wanted.resource), p.seen.early:
		return nil
	}
	defer s.describe(p)
	c, err := s.config(ctx, p)
	if err != nil {
		return err
	}
	if err := s.publications.Serve(o.GetName(), c); err != nil {
		return errors.Wrap(errInvalidSpec, err.Error())
	}
	o.Status.AgentName = p.workspace.plan.agent
	return nil
}

// removeFinalizers has our finalizers taken off the objects of consumers, and fails unless all are.
func (s *syncing) removeFinalizers(ctx context.Context, p *pass) error {
	name := p.resource.GetName()
	if !p.seen.complete() {
		return errStillHeld
	}
	c, err := s.config(ctx, p)
	if err != nil {
		return err
	}
	c.RemoveFinalizers = true
	c.Revision += " unhold"
	if err := s.publications.Serve(name, c); err != nil {
		return err
	}
	if !s.publications.HoldsNone(name) {
		return errStillHeld
	}
	return nil
}

// config returns what is to be served.
func (s *syncing) config(ctx context.Context, p *pass) (c publication.Config, err error) {
	o, w := p.resource, p.workspace
	c.Service, c.Sync = p.service, objectsync.Config{
		Spec: o.Spec.DeepCopy(), Agent: w.plan.agent, StateNamespace: cmp.Or(o.Spec.StateNamespace, s.stateNamespace),
		Publication: strings.Join([]string{o.GetName(), w.logical, w.plan.export}, "/"), Primary: p.wanted.pair,
	}
	if c.Consumers, err = audience(p); err != nil {
		return c, err
	}
	if c.Sync.Related, err = findRelated(ctx, p); err != nil {
		return c, err
	}
	is := c.Sync
	// Their own texts are short of what tells them apart.
	c.Revision = fmt.Sprintf("%s %d %s %s %s %#v %#v", o.GetUID(), o.GetGeneration(), is.Agent, is.StateNamespace,
		is.Publication, is.Primary, is.Related)
	return c, nil
}

// describe records in the status what has become of the objects of consumers, and reports whether that is known. If
// not, it stays as it was.
func (s *syncing) describe(p *pass) (known bool) {
	now, denied := s.publications.Status(p.resource.GetName())
	if now == nil {
		return false
	}
	p.resource.Status.Objects = now
	switch {
	case denied != nil:
		p.report(v1alpha1.ReasonObjectsNotSynced, errors.Wrap(denied, "cannot read all objects"))
	case now.Failed > 0 && now.Synced == 0:
		first := now.Failures[0]
		p.report(v1alpha1.ReasonObjectsNotSynced, errors.Errorf(
			"none of %d objects is synced: %s in workspace %s: %s", now.Failed, first.Object, first.Workspace, first.Message))
	}
	return true
}
