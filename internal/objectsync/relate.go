package objectsync

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// relate brings all related objects into step. One that cannot be is no reason to leave others.
func (p *pass) relate(ctx context.Context, both related.View) error {
	f := newFinder(p, both)
	var all []*copySync
	var errs []error
	for _, r := range p.syncer.related {
		found, err := f.find(r, &p.state)
		p.result.Related = f.holdings
		if apierrors.IsConflict(err) {
			// A cache that is not filled yet: the state would be written once for each identifier that is known by now.
			return err
		}
		all, errs = append(all, found...), append(errs, err)
	}
	p.whole = len(f.known) == len(p.syncer.related)
	plans, unread := p.planner.planAll(all, &p.state)
	errs = append(append(errs, unread...), p.execute(ctx, plans), p.forget(ctx, all, f.known), p.save(ctx),
		p.holdOrigins(ctx, plans))
	body, err := p.planner.planAnnotations(all, f.known, &p.state)
	if err == nil && body != nil {
		err = patchOf(ctx, p.servers.workspace.Writer, p.view.ref, p.view.source, body)
	}
	errs = append(errs, err)
	for i := range p.result.Related {
		h := &p.result.Related[i]
		h.Kept = p.state.isMade(h.Record)
	}
	return oneOf(errs...)
}

// forget removes the copies of related objects that the object no longer refers to or that are gone at the origin, and
// what is remembered of them. What is not known stays.
func (p *pass) forget(ctx context.Context, all []*copySync, known map[string]bool) error {
	here := map[Record]bool{}
	used := map[string]bool{p.state.slotOf(p.planner.primary(Ref{})): true}
	for _, c := range all {
		undone := p.in.Undone && c.rule.origin == v1alpha1.OriginKCP && c.origin == nil
		here[c.record().plain()] = here[c.record().plain()] || undone || c.isHere()
		used[p.state.slotOf(c)] = true
	}
	var errs []error
	for _, r := range p.state.list() {
		if here[r.plain()] || slices.ContainsFunc(p.syncer.related, func(x *copyRule) bool {
			return !known[x.identifier] && x.relates(r.Record) // One of its kind that cannot be told may be this one.
		}) {
			continue
		}
		_, err := p.dissolve(ctx, r)
		errs = append(errs, err)
	}
	if p.whole { // What api-syncagent remembers of objects that are not known has no record.
		p.state.prune(used)
	}
	return oneOf(errs...)
}
