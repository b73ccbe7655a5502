package reference

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

const (
	// strandedAfter is how long after the deletion of an Object a finalizer on it may belong to an Object the cache
	// does not hold yet.
	strandedAfter = 10 * time.Second
	// namesMost is how many dependents a message names.
	namesMost = 5
)

// Dependents returns an error that names the Objects which keep a deleted one, nil if there are none. Finalizers that
// keep it for no reason are taken off: of Objects that are gone or refer to it no more, as earlier providers leave them
// behind, and of those in a cycle with it, as each would wait for the other. The error then is a conflict, because the
// Object is not in its newest state any more.
func (r *Resolver) Dependents(ctx context.Context, f Referrer) error {
	finalizers := slices.DeleteFunc(slices.Clone(f.GetFinalizers()),
		func(s string) bool { return !strings.HasPrefix(s, commonv1.FinalizerReferredPrefix) })
	if len(finalizers) == 0 {
		return nil
	}
	all, err := r.referrers(ctx, f.GVK.GroupKind(), f)
	if err != nil {
		return refused(err)
	}
	cycle, err := r.cycles(ctx, f)
	if err != nil {
		return err
	}
	// A finalizer is not added after the deletion, so that the cache has had this long to hear of its author.
	old := time.Since(f.GetDeletionTimestamp().Time) > strandedAfter
	var names, stranded []string
	for _, finalizer := range finalizers {
		name, void := "an Object with UID "+strings.TrimPrefix(finalizer, commonv1.FinalizerReferredPrefix), old
		if i := slices.IndexFunc(all, func(d Referrer) bool { return d.finalizer() == finalizer }); i >= 0 {
			name = describe(all[i].GVK.Kind, all[i].node().name)
			_, void = cycle[all[i].node()]
			// A deleted one that refers to something else by now would take it off when it goes, which this one may be
			// in the way of.
			void = void || all[i].GetDeletionTimestamp() != nil && !slices.ContainsFunc(r.edges(all[i]),
				func(ref Reference) bool { return ref.node() == f.node() || ref.selects(f.GVK.GroupKind(), f) })
		}
		if void {
			stranded = append(stranded, finalizer)
		} else {
			names = append(names, name)
		}
	}
	if len(stranded) > 0 {
		return r.free(ctx, f, stranded)
	}
	slices.Sort(names)
	if len(names) > namesMost {
		names = append(names[:namesMost], "and others") // A number would be a write of status for each that goes.
	}
	return problem{
		errors.New("waiting for dependents to be deleted: " + strings.Join(names, ", ")),
		commonv1.ReasonWaitingForDependents,
	}
}

// free takes finalizers off an Object. Its error is never nil.
func (r *Resolver) free(ctx context.Context, f Referrer, finalizers []string) error {
	m, err := r.cluster.Mapping(ctx, f.Owner, f.GVK)
	if err != nil {
		return refused(errors.Wrap(err, "cannot find kind of Object"))
	}
	err = apierrors.NewConflict(m.Resource.GroupResource(), f.GetName(), errors.New("it has lost finalizers"))
	at := resource{GroupVersionResource: m.Resource, name: f.node().name, uid: f.GetUID()}
	for _, finalizer := range finalizers {
		err = worse(err, r.editor.set(at, change{owner: f.Owner, finalizer: finalizer}, f))
	}
	return refused(errors.Wrap(err, "cannot remove finalizers of Objects that are gone"))
}

// Leaving reports whether an Object that a deleted one has pinned goes as well, or has gone. Until all such are gone
// the error names one of them, and IsAwaited is true for it. Owners of the deleted Object do not count, as they may
// wait for what they own.
func (r *Resolver) Leaving(ctx context.Context, f Referrer) (leaves bool, err error) {
	for _, p := range f.Observed().References {
		owns := slices.ContainsFunc(f.GetOwnerReferences(),
			func(o metav1.OwnerReference) bool { return o.UID == p.UID })
		if owns || !r.has(pinned(p)) {
			continue
		}
		o, err := r.lookup(ctx, pinned(p), "")
		if err != nil {
			return false, refused(err)
		}
		gone := len(o) == 0 || o[0].GetUID() != p.UID
		if !gone && o[0].GetDeletionTimestamp() != nil {
			return true, waiting("%s to be deleted", describe(p.Kind, nameOf(p)))
		}
		leaves = leaves || gone
	}
	return leaves, nil
}

// waysBack follows edges from a node. It returns, for each node it meets that leads back, the next one on the shortest
// way; also for the first node if that is in a cycle.
func waysBack(home node, edges func(node) ([]node, error)) (map[node]node, error) {
	met, from := map[node]bool{home: true}, map[node][]node{}
	for todo := []node{home}; len(todo) > 0; todo = todo[1:] {
		there, err := edges(todo[0])
		if err != nil {
			return nil, err
		}
		for _, n := range there {
			from[n] = append(from[n], todo[0])
			if !met[n] {
				met[n] = true
				todo = append(todo, n)
			}
		}
	}
	next := map[node]node{}
	for todo := []node{home}; len(todo) > 0; todo = todo[1:] {
		for _, n := range from[todo[0]] {
			if _, ok := next[n]; !ok {
				next[n] = todo[0]
				todo = append(todo, n)
			}
		}
	}
	return next, nil
}

// cycles returns, for each Object in a cycle with another, the next one on the shortest way to that.
func (s *objects) cycles(ctx context.Context, f Referrer) (map[node]node, error) {
	next, err := waysBack(f.node(), func(n node) ([]node, error) {
		var there []node
		objs, err := s.lookup(ctx, n, "")
		for _, o := range objs {
			for _, ref := range s.edges(o) {
				found, err := s.targets(ctx, ref)
				if err != nil {
					return nil, err
				}
				there = append(there, found...)
			}
		}
		return there, err
	})
	return next, refused(err)
}

// breakCycles makes the references fail that lead an Object back to itself.
func (s *objects) breakCycles(ctx context.Context, f Referrer, refs []Reference) error {
	next, err := s.cycles(ctx, f)
	if err != nil || len(next) == 0 {
		return err
	}
	for i := range refs {
		if refs[i].Err != nil {
			continue
		}
		there, err := s.targets(ctx, refs[i])
		if err != nil {
			return refused(err)
		}
		for _, n := range there {
			if _, leads := next[n]; leads && refs[i].Err == nil {
				refs[i].Err = cycleError(f, n, next)
			}
		}
	}
	return nil
}

// cycleError says through which Objects an Object refers to itself.
func cycleError(f Referrer, first node, next map[node]node) error {
	names := []string{describe(f.GVK.Kind, f.node().name), describe(f.GVK.Kind, first.name)}
	for at := first; at != f.node(); {
		at = next[at]
		names = append(names, describe(f.GVK.Kind, at.name))
	}
	return problem{
		errors.New("references form a cycle: " + strings.Join(names, " -> ")), commonv1.ReasonReferenceCycle,
	}
}
