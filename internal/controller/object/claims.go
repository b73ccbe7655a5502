package object

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
)

// indexName is the index of Objects by their name, in all namespaces.
const indexName = "name"

// Claims say which Object holds the field manager of its name on a resource, where Objects of one name meet. An API
// server knows managers by their names only: with one name, each would take the other's fields away.
//
// The manager belongs to the Object whose status says that it has applied the resource with it. If there is none, it
// belongs to the Object whose status says that it has seen the resource. Among several it belongs to the oldest; if
// there is none of either, to the first one that comes. That needs a look at other Objects only until the own status
// says it.
type Claims struct {
	mu      sync.Mutex
	holders map[claimKey]informer.Owner
	spots   map[informer.Owner][]claimKey
	listers []func(ctx context.Context, o ...client.ListOption) ([]resource.Managed, error)
}

// A claimKey is where Objects of one name can meet: a resource, whether it exists or not. One that exists has a second
// spot, with its UID only: a server may have several URLs, and UIDs are the same whichever is used.
type claimKey struct {
	types.NamespacedName

	server string
	kind   schema.GroupKind
	uid    types.UID
	object string
}

// claimKeysOf returns the spots of a resource that is at one.
func claimKeysOf(s claimKey, live *unstructured.Unstructured) []claimKey {
	if live == nil {
		return []claimKey{s}
	}
	return []claimKey{s, {uid: live.GetUID(), object: s.object}}
}

// NewClaims returns Claims of no Object.
func NewClaims() *Claims {
	return &Claims{holders: map[claimKey]informer.Owner{}, spots: map[informer.Owner][]claimKey{}}
}

// include adds the Objects of a kind to those that may meet.
func (c *Claims) include(mgr ctrl.Manager, kind client.Object, newList func() resource.ManagedList) error {
	byName := func(obj client.Object) []string { return []string{obj.GetName()} }
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), kind, indexName, byName); err != nil {
		return errors.Wrap(err, "cannot index by name")
	}
	local := mgr.GetClient()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listers = append(c.listers, func(ctx context.Context, o ...client.ListOption) ([]resource.Managed, error) {
		l := newList()
		err := local.List(ctx, l, append(o, client.UnsafeDisableDeepCopy)...) // They are only read.
		return l.GetItems(), errors.Wrap(err, "cannot list Objects")
	})
	return nil
}

// hold reports whether an owner holds all of some spots, which it gets if nobody has any of them.
func (c *Claims) hold(o informer.Owner, all []claimKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range all {
		if holder, ok := c.holders[s]; ok && holder != o {
			return false
		}
	}
	c.drop(o)
	for _, s := range all {
		c.holders[s] = o
	}
	c.spots[o] = all
	return true
}

// held reports whether an owner holds all of some spots, and whether somebody else holds one.
func (c *Claims) held(o informer.Owner, all []claimKey) (mine, others bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine = true
	for _, s := range all {
		holder, ok := c.holders[s]
		mine, others = mine && ok && holder == o, others || ok && holder != o
	}
	return mine, others
}

// release gives up what an owner holds.
func (c *Claims) release(o informer.Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(o)
}

// drop gives up what an owner holds. The caller holds the lock.
func (c *Claims) drop(o informer.Owner) {
	for _, s := range c.spots[o] {
		delete(c.holders, s)
	}
	delete(c.spots, o)
}

// namesakes returns the other Objects of an Object's name that may apply. They are shared and must not be changed.
func (c *Claims) namesakes(ctx context.Context, o Object) ([]Object, error) {
	others, err := c.others(ctx, o, client.MatchingFields{indexName: o.GetName()})
	return slices.DeleteFunc(others, func(other Object) bool { return !mayApply(other) }), err
}

// others returns the Objects beside one, of all kinds. They are shared and must not be changed.
func (c *Claims) others(ctx context.Context, o Object, l ...client.ListOption) ([]Object, error) {
	c.mu.Lock()
	listers := slices.Clone(c.listers)
	c.mu.Unlock()
	var found []Object
	for _, list := range listers {
		items, err := list(ctx, l...)
		if err != nil {
			return nil, err
		}
		for _, mg := range items {
			if other, ok := mg.(Object); ok && other.GetUID() != o.GetUID() {
				found = append(found, other)
			}
		}
	}
	return found, nil
}

// mayApply reports whether an Object may apply its manifest, or might before it was paused.
func mayApply(o Object) bool {
	p := o.GetManagementPolicies()
	return len(p) == 0 || policy.Allows(p, xpv2.ManagementActionUpdate)
}

// claim finds the field manager of an Object on its resource.
func (e *remote) claim(ctx context.Context, o Object) error {
	s := claimKey{
		NamespacedName: name(e.manifest), server: e.cluster.Server(), kind: e.manifest.GroupVersionKind().GroupKind(),
		object: o.GetName(),
	}
	alone, err := e.alone(ctx, o, s)
	if err != nil {
		return errors.Wrap(err, "cannot find the field manager")
	}
	if alone && mayApply(o) {
		alone = e.options.Claims.hold(e.owner, claimKeysOf(s, e.live))
	}
	e.manager = fieldManager(o)
	if !alone {
		e.options.Claims.release(e.owner)
		e.manager = ownFieldManager(o)
	}
	return nil
}

// alone reports whether nobody else has the manager of an Object's name on its resource.
func (e *remote) alone(ctx context.Context, o Object, s claimKey) (bool, error) {
	if mine, others := e.options.Claims.held(e.owner, claimKeysOf(s, e.live)); mine || others {
		return mine, nil
	}
	if applied := o.Observed().Applied; applied != nil && e.seen(o, s) {
		return applied.FieldManager != ownFieldManager(o), nil
	}
	namesakes, err := e.options.Claims.namesakes(ctx, o)
	if err != nil {
		return false, err
	}
	if e.live == nil && slices.ContainsFunc(namesakes, func(n Object) bool { return isAt(n, s) }) {
		// The watch does not show a resource that lacks our label, which it does until we have applied it once.
		if err := e.ask(ctx); err != nil {
			return false, err
		}
	}
	if e.live == nil {
		return true, nil
	}
	uid := e.live.GetUID()
	return !slices.ContainsFunc(namesakes, func(n Object) bool { return precedes(n, o, uid) }), nil
}

// seen reports whether the resource is the one an Object last saw.
func (e *remote) seen(o Object, s claimKey) bool {
	return isAt(o, s) && (e.live == nil || identity(o).GetUID() == e.live.GetUID())
}

// isAt reports whether an Object has last seen a resource that has the name and kind of a spot, on whatever server.
func isAt(o Object, s claimKey) bool {
	id := identity(o)
	return id != nil && name(id) == s.NamespacedName && id.GroupVersionKind().GroupKind() == s.kind
}

// precedes reports whether an Object has the field manager of its name on a resource before another of that name has
// it.
func precedes(a, b Object, uid types.UID) bool {
	ra, rb := rank(a, uid), rank(b, uid)
	if ra != rb || ra == 0 {
		return ra > rb
	}
	ta, tb := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if !ta.Equal(&tb) {
		return ta.Before(&tb)
	}
	return a.GetUID() < b.GetUID()
}

// rank returns 2 if an Object has applied a resource with the manager of its name, 1 if it may have before it came to
// us, 0 if not.
func rank(o Object, uid types.UID) int {
	if !bytes.Contains(o.Observed().Manifest.Raw, []byte(uid)) { // It costs less than to decode it.
		return 0
	}
	id, applied := identity(o), o.Observed().Applied
	switch {
	case id == nil || id.GetUID() != uid:
		return 0
	case applied == nil:
		return 1
	case applied.FieldManager == "":
		return 2
	}
	return 0
}

// reasonLeftShared is the reason of events about resources that an Object leaves to another.
const reasonLeftShared event.Reason = "LeftSharedResource"

// adopter returns the Object to which an Object that ends leaves its resource. If none is found it is to delete it:
// there is no other, or it does not share. Of Objects that are deleted at once the last to be looked at sees that all
// others are, too, as one cache shows all of them.
func adopter(ctx context.Context, o Object, all *Claims) (to Object, found bool, err error) {
	seen := identity(o)
	if seen == nil || o.Desired().SharedResource != commonv1.SharedResourceKeep {
		return nil, false, nil
	}
	others, err := all.others(ctx, o)
	if err != nil {
		return nil, false, errors.Wrap(err, "cannot find out who shares the resource")
	}
	uid := seen.GetUID()
	for _, other := range others {
		if meta.WasDeleted(other) || dryRun(other) ||
			policy.OfDeleted(other.GetManagementPolicies(), orphans(other)) != policy.Delete {
			continue
		}
		if !bytes.Contains(other.Observed().Manifest.Raw, []byte(uid)) { // It costs less than to decode it.
			continue
		}
		if id := identity(other); id != nil && id.GetUID() == uid {
			return other, true, nil
		}
	}
	return nil, false, nil
}

// transferOwnership leaves the resource of an Object to another, without the fields that only the former has applied.
func (e deletion) transferOwnership(ctx context.Context, o, to Object) error {
	err := e.release(ctx, o)
	if releasesResource(o, err) {
		e.pass.left = err
		return nil
	}
	if err == nil {
		e.events.Event(o, event.Normal(reasonLeftShared, "The resource is left to Object "+to.GetName()))
	}
	return waiting(err)
}
