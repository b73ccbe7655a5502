package objectsync

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// Release deletes the copy of an object and what belongs to it, for an object that is no longer there. It is called
// again until nothing is waited for.
func (s *Syncer) Release(ctx context.Context, in Input) (Result, error) {
	p, err := s.newPass(in, true)
	if err == nil {
		_, err = p.release(ctx)
	}
	return p.result, err
}

// Left returns what is left of an object that is gone: its copy, nil if there is none, and whether there is a state.
func (s *Syncer) Left(in Input) (copied *unstructured.Unstructured, state bool, err error) {
	p, err := s.newPass(in, true)
	return p.copied, p.secret, err
}

// Abandon removes our finalizer from an object whose workspace leaves, and from its related objects there. The copy
// stays, marked as left behind, and so do its related objects and its state: should the object come again, by whatever
// publication, they are its own.
func (s *Syncer) Abandon(ctx context.Context, in Input) (Result, error) {
	p, err := s.newPass(in, true)
	if err == nil {
		err = p.disown(ctx, map[string]any{AnnotationOrphaned: "true", AnnotationKind: p.id.Kind.String()})
	}
	if err == nil {
		err = p.removeFinalizers(ctx, func(Record) bool { return true })
	}
	return p.result, err
}

// RemoveFinalizers takes our finalizer off an object and its related objects in the workspace, the object last, and
// leaves all else: for a PublishedResource that goes without what it has made. Should the object be synced again, by
// whatever publication, copies and state are its own.
func (s *Syncer) RemoveFinalizers(ctx context.Context, in Input) error {
	p, err := s.newPass(in, true)
	if err == nil {
		err = p.disown(ctx, map[string]any{})
	}
	if err != nil {
		return err
	}
	return p.removeFinalizers(ctx, func(r Record) bool {
		p.drop(r)
		return len(p.others(r)) == 0
	})
}

// end deletes what belongs to an object that is being deleted, when only our finalizer is left: until then others still
// need it.
func (p *pass) end(ctx context.Context) error {
	if p.copied == nil && !HasFinalizer(p.source) {
		return nil
	}
	if others := foreignFinalizers(p.source.GetFinalizers()); len(others) > 0 {
		p.result.Waiting = "the finalizers of the object"
		return p.syncStatus(ctx)
	}
	return p.leave(ctx)
}

// foreignFinalizers returns those that are neither ours nor of the garbage collector.
func foreignFinalizers(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(f string) bool {
		return f == Finalizer || f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	})
}

// leave deletes what belongs to the object, and then removes our finalizer from it.
func (p *pass) leave(ctx context.Context) error {
	// What api-syncagent has copied is not recorded, so that it has to be resolved once more.
	if p.copied != nil {
		of := p.newRelatedSync(p.view())
		for _, r := range p.related {
			found, err := of.find(r)
			if err != nil && p.agents && !related.IsUnresolvable(err) {
				return err // What is ours is recorded, and what cannot be resolved has never been copied.
			}
			for _, m := range found {
				if of.checkForbidden(m) == nil && !p.taken(m.record()) &&
					(of.copiedByAgent(m) || m.copied != nil && of.madeByAgent(m)) {
					of.remember(m, true)
				}
			}
		}
	}
	p.result.Related = nil // What is left of them is recorded.
	done, err := p.release(ctx)
	if err != nil {
		return err
	}
	if !done {
		return p.syncStatus(ctx) // So that the consumer sees what keeps the object, as long as it lasts.
	}
	if err := p.letGo(ctx, p.workspaceRef(), p.source); err != nil {
		return err
	}
	p.tell(ReasonDeleted, "The provider of the service has removed its finalizer from the object")
	return nil
}

// release deletes related objects, the copy and the state, in this order, and reports whether all are gone.
func (p *pass) release(ctx context.Context) (done bool, err error) {
	done = true
	for _, r := range p.state.records.all() {
		if p.outlives(r.Record) {
			p.state.records.remove(r.Record)
			continue
		}
		gone, err := p.dissolve(ctx, r)
		if err != nil {
			return false, err
		}
		done = done && gone
	}
	if !done {
		return false, nil
	}
	if gone, err := p.removeCopy(ctx); err != nil || !gone {
		return false, err
	}
	if !p.secret {
		return true, nil
	}
	err = p.Service.Writer.Delete(ctx, p.stateRef(), "")
	if err != nil && !apierrors.IsNotFound(err) {
		return false, errors.Wrap(err, "cannot delete the Secret with the state of the object")
	}
	return true, nil
}

// removeCopy deletes the copy, and reports whether it is gone. One that was recorded and never seen may not be shown
// yet.
func (p *pass) removeCopy(ctx context.Context) (gone bool, err error) {
	at := p.stored.copy
	if p.copied == nil {
		if at.Name == "" || at.UID != "" {
			return true, nil
		}
		is, err := p.isThere(ctx)
		if is {
			err = awaited(p.primary.Service.ref(at.namespacedName()))
		}
		return err == nil, err
	}
	if p.copied.GetDeletionTimestamp() == nil {
		p.tell(ReasonCleanup, "The provider of the service is deleting its copy of the object")
	}
	if gone, err = p.remove(ctx, p.Service, p.copyRef(p.copied)); gone {
		p.result.Copy = types.NamespacedName{}
	}
	return gone, err
}

// outlives reports whether a copy of a related object stays without the primary.
func (s *Syncer) outlives(r Record) bool {
	return r.Origin == v1alpha1.OriginService &&
		!slices.ContainsFunc(s.related, func(x *copyRule) bool { return x.identifier == r.Identifier && x.cleanup })
}

// releaseOrigin takes our finalizer off a related object of the workspace, unless that has a copy of its own by another
// rule, without which it goes.
func (p *pass) releaseOrigin(ctx context.Context, o Ref, u *unstructured.Unstructured) error {
	id := Identity{NamespacedName: o.NamespacedName(), Cluster: p.id.Cluster, Kind: o.groupKind()}
	keyed, err := p.Service.Cache(Secrets).States(id.Key())
	if err != nil || slices.ContainsFunc(keyed,
		func(u *unstructured.Unstructured) bool { return slotIn(u, id.subject()) != nil }) {
		return err
	}
	return p.letGo(ctx, o, u)
}

// removeFinalizers takes our finalizer off related objects that may be let go and then, as with the last of its objects
// a workspace takes our rights to the others, off the object.
func (p *pass) removeFinalizers(ctx context.Context, may func(Record) bool) error {
	for _, r := range p.state.records.all() {
		if !may(r.Record) || r.Origin != v1alpha1.OriginKCP {
			continue
		}
		err := p.ifThere(ctx, p.served(r.Record).From, p.releaseOrigin)
		if err != nil && RefusalOf(err) == nil { // What the workspace no longer shows or lets us write stays as it is.
			return err
		}
	}
	return p.ifThere(ctx, p.workspaceRef(), p.letGo)
}

// ifThere takes our finalizer off what is there in the workspace.
func (p *pass) ifThere(ctx context.Context, r Ref,
	by func(context.Context, Ref, *unstructured.Unstructured) error,
) error {
	u, err := p.Workspace.Cache(r.GVR()).Get(r.NamespacedName())
	if err != nil || u == nil {
		return err
	}
	return by(ctx, r, u)
}

// disown has copy and state belong to no publication any more. The copy gets annotations: if its workspace has left it
// behind, nothing but its kind, which one of api-syncagent does not tell, says to whom it counts from now on.
func (p *pass) disown(ctx context.Context, annotations map[string]any) error {
	if p.copied != nil {
		annotations[AnnotationPublication] = nil
		if body := needed(at([]string{"metadata", "annotations"}, annotations), p.copied.Object); body != nil {
			if err := patch(ctx, p.Service.Writer, p.copyRef(p.copied), body); err != nil {
				return err
			}
		}
	}
	if !p.secret || !p.marked {
		return nil
	}
	return patch(ctx, p.Service.Writer, p.stateRef(),
		at([]string{"metadata", "annotations", AnnotationPublication}, nil))
}
