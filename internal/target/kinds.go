package target

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// searchInterval is the pause between looks for the kinds a target does not serve and somebody waits for.
const searchInterval = 2 * time.Second

// A Mapping is how a target serves a kind.
type Mapping struct {
	// Resource is the kind's resource.
	Resource schema.GroupVersionResource
	// Namespaced reports whether the resources of the kind live in namespaces.
	Namespaced bool
	// Watchable reports whether the target can list and watch the kind.
	Watchable bool
}

// kinds knows which kinds a target serves, as far as anybody has asked.
type kinds struct {
	client rest.Interface
	wake   func(informer.Owner)
	ctx    context.Context //nolint:containedctx // The life of the cluster, which the search shares.

	flight singleflight.Group // one discovery of each group and version at a time, and one of the groups

	mu        sync.Mutex
	known     map[schema.GroupVersionKind]Mapping
	waiting   map[schema.GroupVersionKind]map[waiter]struct{}
	searching bool
}

// A waiter is who waits for kinds: an owner, and what the kinds are for.
type waiter struct {
	informer.Owner

	purpose informer.Purpose
}

func newKinds(ctx context.Context, c rest.Interface, wake func(informer.Owner)) *kinds {
	return &kinds{
		client: c, wake: wake, ctx: ctx,
		known:   map[schema.GroupVersionKind]Mapping{},
		waiting: map[schema.GroupVersionKind]map[waiter]struct{}{},
	}
}

// mapping returns how the target serves a kind. The error satisfies IsNoKind if it does not; the owner is then woken
// when it does.
func (k *kinds) mapping(ctx context.Context, o informer.Owner, gvk schema.GroupVersionKind) (Mapping, error) {
	w := waiter{Owner: o}
	k.mu.Lock()
	k.unwait(w)
	m, ok := k.known[gvk]
	if !ok && len(k.waiting[gvk]) > 0 {
		k.wait(w, gvk)
		k.mu.Unlock()
		return Mapping{}, noKindError{gvk: gvk}
	}
	k.mu.Unlock()
	if ok {
		return m, nil
	}
	if err := k.discoverOnce(ctx, gvk); err != nil {
		return Mapping{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if m, ok := k.known[gvk]; ok {
		return m, nil
	}
	k.wait(w, gvk)
	return Mapping{}, noKindError{gvk: gvk}
}

// invalidate forgets a kind, because a request for it was answered as if it did not exist.
func (k *kinds) invalidate(gvk schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, gvk)
}

// forget ends all that an owner waits for.
func (k *kinds) forget(o informer.Owner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.endWaits(func(w waiter) bool { return w.Owner == o })
}

// unwait ends what is waited for. The caller holds the lock.
func (k *kinds) unwait(w waiter) { k.endWaits(func(other waiter) bool { return other == w }) }

func (k *kinds) endWaits(over func(waiter) bool) {
	for gvk, waiters := range k.waiting {
		maps.DeleteFunc(waiters, func(w waiter, _ struct{}) bool { return over(w) })
		if len(waiters) == 0 {
			delete(k.waiting, gvk)
		}
	}
}

// wait adds to those who wait for a kind, and starts to look for it. The caller holds the lock.
func (k *kinds) wait(w waiter, gvk schema.GroupVersionKind) {
	if k.waiting[gvk] == nil {
		k.waiting[gvk] = map[waiter]struct{}{}
	}
	k.waiting[gvk][w] = struct{}{}
	if !k.searching {
		k.searching = true
		go k.search()
	}
}

// search looks for the kinds waited for, with one request per group and version, until none is left.
func (k *kinds) search() {
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-time.After(searchInterval):
		}
		missing, left := k.missing()
		if !left {
			return
		}
		for gv := range missing {
			_ = k.discover(k.ctx, gv) // Those who wait are told already that the kind is not there.
		}
		for _, o := range k.found() {
			k.wake(o)
		}
	}
}

// missing returns the groups and versions waited for. If there are none the search is over.
func (k *kinds) missing() (map[schema.GroupVersion]struct{}, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	gvs := map[schema.GroupVersion]struct{}{}
	for gvk := range k.waiting {
		gvs[gvk.GroupVersion()] = struct{}{}
	}
	k.searching = len(gvs) > 0
	return gvs, k.searching
}

// found returns, and no longer counts as waiting, who waited for a kind that is there now.
func (k *kinds) found() []informer.Owner {
	k.mu.Lock()
	defer k.mu.Unlock()
	var owners []informer.Owner
	for gvk, waiting := range k.waiting {
		if _, ok := k.known[gvk]; !ok {
			continue
		}
		for w := range waiting {
			owners = append(owners, w.Owner)
		}
		delete(k.waiting, gvk)
	}
	return owners
}
