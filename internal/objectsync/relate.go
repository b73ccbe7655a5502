package objectsync

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// relate brings all related objects into step. One that cannot be is no reason to leave others.
func (p *pass) relate(ctx context.Context, both related.View) error {
	f := newFinder(p, both)
	var all []*copySync
	var errs []error
	p.whole = true
	for _, r := range p.syncer.related {
		found, err := f.find(r, &p.state)
		p.result.Related, p.whole = f.holdings, p.whole && err == nil
		if apierrors.IsConflict(err) {
			// A cache that is not filled yet: the state would be written once for each identifier that is known by now.
			return err
		}
		all, errs = append(all, found...), append(errs, err)
	}
	plans, unread := p.planner.planAll(all, &p.state)
	errs = append(append(errs, unread...), p.execute(ctx, plans))
	if p.whole { // Else one that is not known may be one that seems not to be related any more.
		errs = append(errs, p.forget(ctx, all))
	}
	errs = append(errs, p.save(ctx), p.holdOrigins(ctx, plans))
	if p.whole {
		errs = append(errs, p.announce(ctx, all))
	}
	for i := range p.result.Related {
		h := &p.result.Related[i]
		h.Kept = p.state.isMade(h.Record)
	}
	return oneOf(errs...)
}

// forget removes the copies of related objects that the object no longer refers to or that are gone at the origin, and
// what is remembered of them.
func (p *pass) forget(ctx context.Context, all []*copySync) error {
	here, used := map[Record]bool{}, map[string]bool{p.state.slotOf(p.planner.primary(Ref{})): true}
	for _, c := range all {
		undone := p.in.Undone && c.rule.origin == v1alpha1.OriginKCP && c.origin == nil
		here[c.record().plain()] = here[c.record().plain()] || undone || c.isHere()
		used[p.state.slotOf(c)] = true
	}
	var errs []error
	for _, r := range p.state.list() {
		if !here[r.plain()] {
			_, err := p.dissolve(ctx, r)
			errs = append(errs, err)
		}
	}
	p.state.prune(used)
	return oneOf(errs...)
}

// announce tells the consumer which objects of the workspace have come from the service cluster.
func (p *pass) announce(ctx context.Context, all []*copySync) error {
	body, err := p.planner.planAnnotations(all, &p.state)
	if err != nil || body == nil {
		return err
	}
	return patchOf(ctx, p.servers.workspace.Writer, p.view.ref, p.view.source, body)
}
