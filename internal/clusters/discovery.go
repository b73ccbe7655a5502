package clusters

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
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
	// Readable reports whether the target can return a resource of the kind. Some can only be created, as a
	// SubjectAccessReview.
	Readable bool
	// Watchable reports whether the target can list and watch the kind.
	Watchable bool
}

// kinds knows which kinds a target serves, as far as anybody has asked.
type kinds struct {
	client  rest.Interface
	found   func(informer.Owner) // called for who has waited for a kind
	explain func(informer.Owner, error) error
	life    context.Context    //nolint:containedctx // The life of the cluster, which the search shares.
	flight  singleflight.Group // one request for each kind or path at a time

	lock      sync.Mutex
	known     map[schema.GroupVersionKind]Mapping // of kinds that somebody has asked for, not of all that are served
	waiting   map[waiter][]schema.GroupVersionKind
	sought    map[schema.GroupVersionKind]int // how many wait for a kind
	searching bool
}

// A waiter is who waits for kinds: an owner, and what the kinds are for.
type waiter struct {
	informer.Owner

	purpose informer.Purpose
}

func newKinds(ctx context.Context, c rest.Interface, found func(informer.Owner)) *kinds {
	return &kinds{
		client: c, found: found, life: ctx, explain: func(_ informer.Owner, err error) error { return err },
		known: map[schema.GroupVersionKind]Mapping{}, waiting: map[waiter][]schema.GroupVersionKind{},
		sought: map[schema.GroupVersionKind]int{},
	}
}

// Mapping returns how the cluster serves a kind. The error satisfies IsNoKind if it does not; the owner is then woken
// when it does.
func (k *kinds) Mapping(ctx context.Context, o informer.Owner, gvk schema.GroupVersionKind) (Mapping, error) {
	served, err := k.Mappings(ctx, o, "", gvk)
	if m, ok := served[gvk]; ok || err != nil {
		return m, err
	}
	return Mapping{}, noKindError{gvk: gvk}
}

// Mappings returns how the cluster serves each of the kinds an owner needs for a purpose. Kinds it does not serve are
// missing from the result; the owner is then woken when it does. They replace those of an earlier call.
func (k *kinds) Mappings(
	ctx context.Context, o informer.Owner, p informer.Purpose, gvks ...schema.GroupVersionKind,
) (map[schema.GroupVersionKind]Mapping, error) {
	for _, gvk := range gvks {
		if k.isSettled(gvk) {
			continue
		}
		if err := k.discoverOnce(ctx, gvk, gvks...); err != nil {
			return nil, k.explain(o, err)
		}
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	w, served := waiter{Owner: o, purpose: p}, make(map[schema.GroupVersionKind]Mapping, len(gvks))
	k.endWait(w)
	for _, gvk := range gvks {
		if m, ok := k.known[gvk]; ok {
			served[gvk] = m
			continue
		}
		k.waiting[w] = append(k.waiting[w], gvk)
		k.sought[gvk]++
		if !k.searching {
			k.searching = true
			go k.search()
		}
	}
	return served, nil
}

// Locate is Mapping for what was made of a kind: another version will do. It returns whether there is one.
func (k *kinds) Locate(ctx context.Context, o informer.Owner, gvk schema.GroupVersionKind) (Mapping, bool, error) {
	m, err := k.Mapping(ctx, o, gvk)
	if IsNoKind(err) {
		m, served, err := k.findKind(ctx, gvk.GroupKind())
		return m, served, k.explain(o, err)
	}
	return m, err == nil, err
}

// findKind returns how the cluster serves a kind in any version, and whether it does.
func (k *kinds) findKind(ctx context.Context, gk schema.GroupKind) (Mapping, bool, error) {
	served, err := k.once(ctx, groupsPath(gk.Group)+gk.Group, func() (any, error) { return k.versions(gk.Group) })
	if err != nil {
		return Mapping{}, false, errors.Wrap(err, "cannot discover groups")
	}
	versions, _ := served.([]string)
	for _, v := range versions {
		if err := k.discoverOnce(ctx, gk.WithVersion(v)); err != nil {
			return Mapping{}, false, err
		}
		if m, ok := k.mapping(gk.WithVersion(v)); ok {
			return m, true, nil
		}
	}
	return Mapping{}, false, nil
}

// Authorized returns nil if the target shows an owner what it serves. It is asked each time, as credentials may be
// revoked.
func (k *kinds) Authorized(ctx context.Context, o informer.Owner) error {
	_, err := k.once(ctx, groupsPath(""), func() (any, error) { return k.versions("") })
	return k.explain(o, errors.Wrap(err, "cannot discover groups"))
}

// InvalidateMapping forgets how the cluster serves a kind, because the cluster has answered as if it did not.
func (k *kinds) InvalidateMapping(gvk schema.GroupVersionKind) {
	k.lock.Lock()
	defer k.lock.Unlock()
	delete(k.known, gvk)
}

// mapping returns how the target serves a kind, and whether it is known to.
func (k *kinds) mapping(gvk schema.GroupVersionKind) (Mapping, bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	m, ok := k.known[gvk]
	return m, ok
}

// isSettled reports whether the target need not be asked for a kind: it is known, or the search looks for it, as
// somebody waits for it.
func (k *kinds) isSettled(gvk schema.GroupVersionKind) bool {
	k.lock.Lock()
	defer k.lock.Unlock()
	_, known := k.known[gvk]
	return known || k.sought[gvk] > 0
}

// endWait ends what somebody waits for. The caller holds the lock.
func (k *kinds) endWait(w waiter) {
	for _, gvk := range k.waiting[w] {
		if k.sought[gvk]--; k.sought[gvk] == 0 {
			delete(k.sought, gvk)
		}
	}
	delete(k.waiting, w)
}

// forget ends all that an owner waits for.
func (k *kinds) forget(o informer.Owner) {
	k.lock.Lock()
	defer k.lock.Unlock()
	for w := range k.waiting {
		if w.Owner == o {
			k.endWait(w)
		}
	}
}

// search looks for the kinds waited for until none is left, with one request for all groups and one for each group and
// version that is served.
func (k *kinds) search() {
	_ = wait.PollUntilContextCancel(k.life, searchInterval, false, func(context.Context) (over bool, err error) {
		sought := map[schema.GroupVersion]struct{}{}
		k.lock.Lock()
		for gvk := range k.sought {
			sought[gvk.GroupVersion()] = struct{}{}
		}
		k.searching = len(sought) > 0
		k.lock.Unlock()
		for _, gv := range k.listed(sought) {
			_ = k.discover(gv) // Those who wait are told already that the kind is not there.
		}
		return len(sought) == 0, nil
	})
}

// listed returns which of some versions of groups the target lists. Where it does not say, all are.
func (k *kinds) listed(sought map[schema.GroupVersion]struct{}) []schema.GroupVersion {
	known, errs := map[string][]schema.GroupVersion{}, map[string]error{} // by path
	return slices.DeleteFunc(slices.Collect(maps.Keys(sought)), func(gv schema.GroupVersion) bool {
		path := groupsPath(gv.Group)
		if _, asked := known[path]; !asked {
			known[path], errs[path] = k.served(path)
		}
		return errs[path] == nil && !slices.Contains(known[path], gv)
	})
}

// discoverOnce discovers the group and version of a kind, unless the kind is known when its turn comes. Of other kinds
// there it keeps those that are wanted, too.
func (k *kinds) discoverOnce(ctx context.Context, gvk schema.GroupVersionKind, more ...schema.GroupVersionKind) error {
	wanted := append(slices.Clip(more), gvk)
	_, err := k.once(ctx, gvk.String(), func() (any, error) {
		if _, known := k.mapping(gvk); known {
			return nil, nil //nolint:nilnil // The error is all that counts.
		}
		return nil, k.discover(gvk.GroupVersion(), wanted...)
	})
	return err
}

// once asks the target, one at a time for each key. Who waits gives up after 2 seconds, or with the context.
func (k *kinds) once(ctx context.Context, key string, ask func() (any, error)) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, slowAfter, unreachableError{cause: errSlow})
	defer cancel()
	select {
	case res := <-k.flight.DoChan(key, ask):
		return res.Val, res.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// discover asks for the resources of one group and version, keeps those of the kinds that are wanted or waited for, and
// wakes who waits. It returns no error if the list of groups confirms that it is not served.
func (k *kinds) discover(gv schema.GroupVersion, wanted ...schema.GroupVersionKind) error {
	list := &metav1.APIResourceList{}
	err := k.client.Get().AbsPath(groupsPath(gv.Group) + "/" + gv.String()).Do(k.life).Into(list)
	if apierrors.IsNotFound(err) || IsUnserved(err) {
		served, gerr := k.versions(gv.Group)
		switch {
		case gerr == nil && !slices.Contains(served, gv.Version):
			return nil
		case IsUnreachable(gerr):
			err = gerr
		}
	}
	if err != nil {
		return errors.Wrapf(err, "cannot discover %s", gv)
	}
	k.lock.Lock()
	for _, r := range list.APIResources {
		gvk := gv.WithKind(r.Kind)
		used := k.sought[gvk] > 0 || slices.Contains(wanted, gvk)
		if used && !strings.Contains(r.Name, "/") { // It is no subresource.
			k.known[gvk] = Mapping{
				Resource:   gv.WithResource(r.Name),
				Namespaced: r.Namespaced,
				Readable:   slices.Contains(r.Verbs, "get"),
				Watchable:  slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch"),
			}
		}
	}
	var served []informer.Owner // They say anew what they wait for.
	for w, gvks := range k.waiting {
		if slices.ContainsFunc(gvks, func(gvk schema.GroupVersionKind) bool { _, ok := k.known[gvk]; return ok }) {
			served = append(served, w.Owner)
			k.endWait(w)
		}
	}
	k.lock.Unlock()
	for _, o := range served {
		k.found(o)
	}
	return nil
}

// groupsPath returns the path that tells whether a group is served.
func groupsPath(group string) string {
	if group == "" {
		return "/api"
	}
	return "/apis"
}

// versions returns the versions of a group that are served.
func (k *kinds) versions(group string) (served []string, err error) {
	all, err := k.served(groupsPath(group))
	for _, gv := range all {
		if gv.Group == group {
			served = append(served, gv.Version)
		}
	}
	return served, err
}

// served returns the versions of groups that a path of groupsPath lists. Only an answer that lists groups tells: a
// server or proxy which does not know the path knows nothing of kinds.
func (k *kinds) served(path string) (all []schema.GroupVersion, err error) {
	answer := k.client.Get().AbsPath(path).Do(k.life)
	if path == groupsPath("") {
		core := &metav1.APIVersions{}
		err = answer.Into(core)
		for _, v := range core.Versions {
			all = append(all, schema.GroupVersion{Version: v})
		}
		return all, err
	}
	list := &metav1.APIGroupList{}
	err = answer.Into(list)
	for _, g := range list.Groups {
		for _, v := range g.Versions {
			all = append(all, schema.GroupVersion{Group: g.Name, Version: v.Version})
		}
	}
	return all, err
}
