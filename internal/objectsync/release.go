package objectsync

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// end deletes what belongs to an object that is being deleted, when only our finalizer is left: until then others still
// need it.
func (p *pass) end(ctx context.Context) error {
	if p.view.copied == nil && !HasFinalizer(p.view.source) {
		return nil
	}
	if slices.ContainsFunc(p.view.source.GetFinalizers(), func(f string) bool {
		return f != Finalizer && f != metav1.FinalizerDeleteDependents && f != metav1.FinalizerOrphanDependents
	}) {
		return p.syncStatus(ctx)
	}
	return p.leave(ctx)
}

// leave deletes what belongs to the object, and then removes our finalizer from it.
func (p *pass) leave(ctx context.Context) error {
	if err := p.recordAgents(ctx); err != nil {
		return err
	}
	done, err := p.release(ctx)
	if err != nil {
		return err
	}
	if !done {
		return p.syncStatus(ctx) // So that the consumer sees what keeps the object, as long as it lasts.
	}
	if p.view.source.GetDeletionTimestamp() == nil {
		p.view.copied = nil
		if err := p.syncStatus(ctx); err != nil {
			return err
		}
	}
	if err := p.in.letGo(ctx, p.view.ref, p.view.source); err != nil {
		return err
	}
	p.result.tell(ReasonDeleted, "The provider of the service has removed its finalizer from the object")
	return nil
}

// recordAgents records what api-syncagent has copied. It has not recorded that, so that it has to be resolved once
// more.
func (p *pass) recordAgents(ctx context.Context) error {
	if p.view.copied == nil {
		return nil
	}
	f := newFinder(p, p.view.both())
	for _, r := range p.syncer.related {
		found, err := f.find(ctx, r)
		if err != nil && p.view.agents && !related.IsUnresolvable(err) {
			return err // What is ours is recorded, and what cannot be resolved has never been copied.
		}
		for _, c := range found {
			if p.view.agents {
				if err := p.load(ctx, c); err != nil {
					return err
				}
			}
			if p.isAgents(c) {
				p.state.remember(c, nil, false)
			}
		}
	}
	return nil
}

// release deletes related objects, the copy and the state, in this order, and reports whether all are gone. As long as
// a copy is only not shown, or has become another's, nothing is deleted that belongs to it.
func (p *pass) release(ctx context.Context) (done bool, err error) {
	gone := false
	if p.view.copied == nil {
		if gone, err = p.removeCopy(ctx); !gone {
			return false, err
		}
	}
	maps.DeleteFunc(p.state.records, func(_ Record, r recorded) bool { return p.syncer.outlives(r.Record) })
	var errs []error
	for _, r := range p.state.list() {
		errs = append(errs, p.removeRelated(ctx, r, false, true))
	}
	if err := oneOf(errs...); err != nil || len(p.state.records) > 0 {
		return false, err
	}
	if !gone {
		if gone, err = p.removeCopy(ctx); err != nil || !gone {
			return false, err
		}
	}
	return true, p.secret.remove(ctx)
}

// removeRelated deletes the copy of a related object, removes our finalizer from the object at the origin, and then
// forgets the record. Copy and finalizer stay if other objects of the workspace keep the copy; the finalizer also stays
// if this object has another copy. An object of the workspace that refers to it and has not copied it yet makes a copy
// of its own. If the object at the origin is being deleted, or the service cluster has it no more, nobody needs a copy.
// The copy of one of the workspace that is not seen stays until this object ends. What somebody else has made in the
// place of the copy stays. Missing says that this object refers to it, and did not find it.
func (p *pass) removeRelated(ctx context.Context, r recorded, missing, ends bool) error {
	origin, other := p.in.of(r.Origin)
	now := p.syncer.served(r.Record)
	u, err := get(origin, now.From)
	if err == nil && missing && u != nil {
		err = awaited(now.From) // It is shown by now, and nobody has given it up.
	}
	if err != nil {
		return err
	}
	copied, err := get(other, now.To)
	unseen := u == nil && r.Origin == v1alpha1.OriginKCP
	switch w := p.in.Workspace; {
	case err != nil:
		return err
	case !unseen || r.Pending:
	case w.Writer != nil && !w.ShowsAll(now.From.GVR().GroupResource()):
		hidden := NewClaimRefusal(now.From.GVR().GroupResource()) // Our finalizer may be on it.
		hidden.Object = now.From
		return hidden
	case copied != nil && !ends:
		return nil
	}
	needed := p.giveUp(r.Record)
	if u == nil && !unseen || u != nil && u.GetDeletionTimestamp() != nil {
		needed = nil
	}
	gone := true
	switch {
	case slices.ContainsFunc(needed, func(h Holding) bool { return h.plain() == r.plain() }):
	case copied == nil:
		err = p.in.confirmCopyGone(ctx, r, now.To)
	case isRecorded(r, copied, p.view.id.Cluster):
		gone, err = p.remove(ctx, other, now.To, copied, u)
	}
	if err != nil || !gone {
		return err
	}
	if r.Origin == v1alpha1.OriginKCP && len(needed) == 0 && u != nil && !p.state.hasOther(r.Record, "") {
		if err := p.in.releaseOrigin(ctx, now.From, u); err != nil {
			return err
		}
	}
	p.state.forget(r.Record)
	return nil
}

// giveUp has the holders forget that this object uses a copy, and returns the copies of the same object that others of
// the workspace keep. In this order, of two at a time one sees that nobody else is left.
func (p *pass) giveUp(r Record) []Holding {
	all := func() []Holding {
		return slices.DeleteFunc(p.in.Holders.Holdings(clusterOf(r.Origin, p.view.id.Cluster), r.From),
			func(h Holding) bool { return h.Primary.Cluster != p.view.id.Cluster || !h.isOf(r) })
	}
	for _, h := range all() {
		if h.State == p.secret.name && h.plain() == r.plain() {
			p.in.Holders.Drop(h)
		}
	}
	return slices.DeleteFunc(all(), func(h Holding) bool {
		return h.State == p.secret.name || !h.Kept || h.Primary.Name == ""
	})
}

// remove deletes an object as it was read, as its original asks for it, and reports whether it is gone. Else that is
// waited for.
func (p *pass) remove(ctx context.Context, side Side, o Ref, u, asks *unstructured.Unstructured,
) (gone bool, err error) {
	now := u
	if u.GetDeletionTimestamp() == nil {
		if err := side.delete(ctx, o, u.GetUID(), asks); err != nil && !apierrors.IsNotFound(err) {
			return false, errors.Wrapf(err, "cannot delete %s", o)
		}
		if now, err = get(side, o); err != nil {
			return false, err
		}
	}
	return now == nil || now.GetUID() != u.GetUID(), nil
}

// removeCopy deletes the copy, and reports whether it is gone. One that was recorded and never seen may not be shown
// yet, and our labels may be off one whose object is not seen in deletion.
func (p *pass) removeCopy(ctx context.Context) (gone bool, err error) {
	at := p.view.stored.copy
	if p.view.copied == nil {
		ends := p.view.source != nil && p.view.source.GetDeletionTimestamp() != nil
		if at.Name == "" || at.UID != "" && ends {
			return true, nil
		}
		is, err := p.isThere(ctx)
		if is {
			err = awaited(p.syncer.copyRef(at.NamespacedName))
		}
		return err == nil, err
	}
	if p.view.copied.GetDeletionTimestamp() == nil {
		p.result.tell(ReasonCleanup, "The provider of the service is deleting its copy of the object")
	}
	to := p.syncer.copyRef(nameOf(p.view.copied))
	if gone, err = p.remove(ctx, p.in.Service, to, p.view.copied, p.view.source); gone {
		p.result.Copy = types.NamespacedName{}
	}
	return gone, err
}

// removeFinalizers takes our finalizer off related objects that no others keep and then, as with the last of its
// objects a workspace takes our rights to the others, off the object.
func (p *pass) removeFinalizers(ctx context.Context) error {
	for _, r := range p.state.list() {
		if r.Origin != v1alpha1.OriginKCP || len(p.giveUp(r.Record)) > 0 {
			continue
		}
		from := p.syncer.served(r.Record).From
		u, err := get(p.in.Workspace.Side, from)
		if err == nil && u != nil {
			err = p.in.releaseOrigin(ctx, from, u)
		}
		if err != nil && RefusalOf(err) == nil { // What the workspace no longer shows or lets us write stays as it is.
			return err
		}
	}
	if p.view.source == nil {
		return nil
	}
	return p.in.letGo(ctx, p.view.ref, p.view.source)
}

// detach takes the publication off the copy and the state. An orphan gets its mark, and its kind: that alone tells
// which publication may take it over, and a copy of api-syncagent does not name it.
func (p *pass) detach(ctx context.Context, orphan bool) error {
	if u := p.view.copied; u != nil {
		annotations, labels := map[string]any{AnnotationPublication: nil}, map[string]any{}
		if orphan {
			annotations[AnnotationKind] = p.view.id.Kind.String()
			labels[LabelOrphaned] = cmp.Or(u.GetLabels()[LabelOrphaned], time.Now().UTC().Format(time.DateOnly))
		}
		body := needed(map[string]any{"metadata": map[string]any{"annotations": annotations, "labels": labels}}, u.Object)
		if body != nil {
			if _, err := p.in.Service.patchOf(ctx, p.syncer.copyRef(nameOf(u)), u, body); err != nil {
				return err
			}
		}
	}
	return p.secret.detach(ctx)
}
