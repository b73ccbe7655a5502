package targetresource

import (
	"context"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// A Resource is one resource on a target, as an owner has it for one purpose.
type Resource struct {
	// Cluster that holds it.
	Cluster *clusters.Cluster
	// Admit is asked before each write whether the owner may still use the cluster.
	Admit func(context.Context) error
	// Owner is woken when it changes. All it looks at for one Purpose replaces what it has looked at before.
	Owner   informer.Owner
	Purpose informer.Purpose
	// Manifest says at least which resource it is. Place has fitted it to Mapping, which is how the cluster serves its
	// kind.
	Manifest *unstructured.Unstructured
	Mapping  clusters.Mapping
	// SecretFields are the fields of the manifest, as data.key, that hold content of a Secret.
	SecretFields []string
}

// MessageUnlabelled is what owners say of a resource that Follow watches by its name.
const MessageUnlabelled = "label " + commonv1.LabelKeyManaged + " is removed from the resource, so the provider " +
	"watches the resource by its name: let admission on the target keep the label, and set it to \"" +
	commonv1.LabelValueManaged + "\" there"

// Labelled returns the streams that show a resource which carries our label, the best first.
func (r Resource) Labelled() []informer.Stream {
	if r.Mapping.Namespaced {
		return []informer.Stream{informer.StreamLabelled, informer.StreamLabelledInNamespace}
	}
	return []informer.Stream{informer.StreamLabelled}
}

// See returns the resource as the first of some streams shows it that the target does not deny, or else as the target
// answers. It is nil if it does not exist, and shared with the watch: it must not be changed. The error satisfies
// informer.IsNotSynced while it is too early.
func (r Resource) See(ctx context.Context, scopes ...informer.Stream) (*unstructured.Unstructured, error) {
	if !r.Mapping.Watchable {
		return r.Ask(ctx)
	}
	if r.follows() {
		scopes = []informer.Stream{informer.StreamByName}
	}
	live, err := r.through(ctx, scopes)
	if informer.IsDenied(err) {
		return r.Ask(ctx)
	}
	return live, errors.Wrap(answer(err), "cannot read resource")
}

// through looks through the first stream that the target does not deny. Those before it stay open, to notice when that
// changes.
func (r Resource) through(ctx context.Context, scopes []informer.Stream) (live *unstructured.Unstructured, err error) {
	defer r.Cluster.Watches().Done(r.Owner, r.Purpose)
	for _, s := range scopes {
		live, err = r.Cluster.Watches().Get(ctx, r.Owner, r.Purpose, r.watchRequest(s))
		if !informer.IsDenied(err) {
			break
		}
	}
	return live, err
}

func (r Resource) watchRequest(s informer.Stream) informer.WatchRequest {
	n := client.ObjectKeyFromObject(r.Manifest)
	return informer.WatchRequest{Resource: r.Mapping.Resource, NamespacedName: n, Stream: s}
}

// follows reports whether the resource is watched by its name.
func (r Resource) follows() bool {
	return r.Cluster.Watches().Wakes(r.Owner, r.Purpose, r.watchRequest(informer.StreamByName))
}

// Follow watches a resource by its name as long as it lacks our label although it is written, and reports whether so.
func (r Resource) Follow(ctx context.Context, live *unstructured.Unstructured) bool {
	streams, lacks := r.Labelled(), r.Mapping.Watchable && !IsLabelled(live)
	if lacks {
		streams = []informer.Stream{informer.StreamByName}
	}
	if lacks != r.follows() {
		early, cancel := context.WithCancel(ctx)
		cancel()
		_, _ = r.through(early, streams) // Whoever has looked before the first list is woken by it.
	}
	return lacks
}

// IsLabelled reports whether a resource carries our label.
func IsLabelled(u *unstructured.Unstructured) bool {
	return u.GetLabels()[commonv1.LabelKeyManaged] == commonv1.LabelValueManaged
}

// Find returns the resource like See or, if no stream shows it, as the target answers: it may only lack our label.
func (r Resource) Find(ctx context.Context, scopes ...informer.Stream) (*unstructured.Unstructured, error) {
	live, err := r.See(ctx, scopes...)
	if err != nil || live != nil || !r.Mapping.Watchable {
		return live, err
	}
	return r.Ask(ctx)
}

// Ask reads the resource from the target. It is nil if it does not exist.
func (r Resource) Ask(ctx context.Context) (*unstructured.Unstructured, error) {
	u, err := r.Cluster.Read(ctx, r.watchRequest(informer.StreamByName))
	r.distrust(err)
	return u, answer(err)
}

// Client returns a client that writes the resource as a field manager.
func (r Resource) Client(manager string) apply.Client {
	resources := r.Cluster.Resource(r.Mapping.Resource, r.Manifest.GetNamespace())
	return apply.Client{Resources: resources, Manager: manager, SecretFields: r.SecretFields}
}

// Write calls a function that writes the resource and returns the answer. The next look sees that answer, and its echo
// does not wake the owner.
func (r Resource) Write(ctx context.Context,
	write func() (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	if err := r.Admit(ctx); err != nil {
		return nil, err
	}
	live, err := write()
	if err != nil {
		r.distrust(err)
		return nil, answer(err)
	}
	r.Cluster.Watches().Put(r.Owner, r.Mapping.Resource, live)
	return live, informer.Unreadable(live)
}

// Delete requests the deletion of the resource as it was seen, and reports whether the target says that it is gone.
// That it was gone before, or that there is a namesake, is no error.
func (r Resource) Delete(
	ctx context.Context, live *unstructured.Unstructured, p metav1.DeletionPropagation,
) (gone bool, err error) {
	if live.GetDeletionTimestamp() != nil {
		return false, nil
	}
	if err := r.Admit(ctx); err != nil {
		return false, err
	}
	// In the version that was seen it was not being deleted: then the answer tells whether it is gone.
	as := &metav1.Preconditions{UID: new(live.GetUID()), ResourceVersion: new(live.GetResourceVersion())}
	o := metav1.DeleteOptions{Preconditions: as, PropagationPolicy: &p}
	gone, err = r.Cluster.Delete(ctx, r.Mapping.Resource, client.ObjectKeyFromObject(live), o)
	if apierrors.IsConflict(err) {
		gone, as.ResourceVersion = false, nil
		_, err = r.Cluster.Delete(ctx, r.Mapping.Resource, client.ObjectKeyFromObject(live), o)
	}
	switch {
	case apierrors.IsNotFound(err):
		r.Cluster.Watches().Gone(r.Mapping.Resource, client.ObjectKeyFromObject(r.Manifest), live.GetUID())
		return false, nil
	case apierrors.IsConflict(err):
		return false, nil
	}
	if s := (&apierrors.StatusError{}); errors.As(err, &s) && apierrors.IsInvalid(err) {
		s.ErrStatus.Reason = metav1.StatusReasonForbidden // Policies say so. A deletion has nothing that could be invalid.
	}
	return gone, errors.Wrapf(answer(err), "cannot delete %q", live.GetName())
}

// distrust forgets how the target serves the kind if the target has answered as if it did not. A resource or a
// namespace that does not exist is not found either, but by a handler that exists.
func (r Resource) distrust(err error) {
	if clusters.IsUnserved(err) {
		r.Cluster.InvalidateMapping(r.Manifest.GroupVersionKind())
	}
}

// Locate returns how the target serves the kind of a resource that was made on it, in another version if need be, and
// whether it does.
func Locate(ctx context.Context, c *clusters.Cluster, u *unstructured.Unstructured) (clusters.Mapping, bool, error) {
	m, served, err := c.Locate(ctx, u.GroupVersionKind())
	return m, served, errors.Wrap(answer(err), "cannot find kind of resource")
}

const (
	// driftBurst is how many changes by others are reverted at once, and driftPause how far apart after that.
	driftBurst = 100
	driftPause = time.Minute
	// driftPeace is how long after its last revert a fight is over. Whoever still fights undoes the next one before.
	driftPeace = 2 * driftPause
)

// A Drift slows down the fight over a resource that somebody else keeps changing. Its zero value has seen no change.
// One worker at a time reconciles an owner, and nobody else asks for its fight.
type Drift struct {
	fights sync.Map // informer.Owner to *fight
}

// A fight is how often and when the changes of a resource were reverted last.
type fight struct {
	reverts int
	last    time.Time
}

// fight returns the fight of an owner, which begins anew after driftPeace.
func (d *Drift) fight(o informer.Owner) *fight {
	known, _ := d.fights.LoadOrStore(o, &fight{})
	f := known.(*fight) //nolint:forcetypeassert // Nothing else is in it.
	if time.Since(f.last) >= driftPeace {
		f.reverts = 0
	}
	return f
}

// Wait returns how long to wait before the next revert, 0 if it may be done now.
func (d *Drift) Wait(o informer.Owner) time.Duration {
	f := d.fight(o)
	if wait := time.Until(f.last.Add(driftPause)); f.reverts >= driftBurst && wait > 0 {
		return wait
	}
	f.reverts, f.last = f.reverts+1, time.Now()
	return 0
}

// Fights returns how long a fight goes on if nothing more is reverted, 0 if there is none.
func (d *Drift) Fights(o informer.Owner) time.Duration {
	if f := d.fight(o); f.reverts > driftBurst*2/3 {
		return time.Until(f.last.Add(driftPeace))
	}
	return 0
}

// Reverts returns how many changes have been reverted in the present fight.
func (d *Drift) Reverts(o informer.Owner) int { return d.fight(o).reverts }

// Forget forgets the changes of what an owner has.
func (d *Drift) Forget(o informer.Owner) { d.fights.Delete(o) }
