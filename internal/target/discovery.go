package target

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
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
	client rest.Interface
	wake   func(informer.Owner)
	ctx    context.Context //nolint:containedctx // The life of the cluster, which the search shares.

	flight singleflight.Group // one request for each path at a time

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

// mappings returns how the target serves kinds, without those it does not serve. Who asks waits for these, and for no
// others.
func (k *kinds) mappings(ctx context.Context, w waiter,
	gvks ...schema.GroupVersionKind,
) (map[schema.GroupVersionKind]Mapping, error) {
	k.mu.Lock()
	unsought := slices.DeleteFunc(slices.Clone(gvks),
		func(gvk schema.GroupVersionKind) bool { return len(k.waiting[gvk]) > 0 })
	k.mu.Unlock()
	for _, gvk := range unsought {
		if err := k.discoverOnce(ctx, gvk); err != nil {
			return nil, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.endWaits(func(other waiter) bool { return other == w })
	served := make(map[schema.GroupVersionKind]Mapping, len(gvks))
	for _, gvk := range gvks {
		if m, ok := k.known[gvk]; ok {
			served[gvk] = m
			continue
		}
		if k.waiting[gvk] == nil {
			k.waiting[gvk] = map[waiter]struct{}{}
		}
		k.waiting[gvk][w] = struct{}{}
		if !k.searching {
			k.searching = true
			go k.search()
		}
	}
	return served, nil
}

// find returns how the target serves a kind in any version, and whether it does.
func (k *kinds) find(ctx context.Context, gk schema.GroupKind) (Mapping, bool, error) {
	served, err := k.once(ctx, groupsPath(gk.Group), func() (any, error) { return k.groups(gk.Group) })
	if err != nil {
		return Mapping{}, false, errors.Wrap(err, "cannot discover groups")
	}
	versions, _ := served.(map[string][]string)
	for _, v := range versions[gk.Group] {
		if err := k.discoverOnce(ctx, gk.WithVersion(v)); err != nil {
			return Mapping{}, false, err
		}
		if m, ok := k.mapping(gk.WithVersion(v)); ok {
			return m, true, nil
		}
	}
	return Mapping{}, false, nil
}

// mapping returns how the target serves a kind, and whether it is known to.
func (k *kinds) mapping(gvk schema.GroupVersionKind) (Mapping, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, ok := k.known[gvk]
	return m, ok
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

// endWaits ends some waits. The caller holds the lock.
func (k *kinds) endWaits(over func(waiter) bool) {
	for gvk, waiters := range k.waiting {
		maps.DeleteFunc(waiters, func(w waiter, _ struct{}) bool { return over(w) })
		if len(waiters) == 0 {
			delete(k.waiting, gvk)
		}
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
		missing := map[schema.GroupVersion]struct{}{}
		k.mu.Lock()
		for gvk := range k.waiting {
			missing[gvk.GroupVersion()] = struct{}{}
		}
		k.searching = len(missing) > 0
		k.mu.Unlock()
		if len(missing) == 0 {
			return
		}
		for gv := range missing {
			_ = k.discover(gv) // Those who wait are told already that the kind is not there.
		}
	}
}

// discoverOnce discovers the group and version of a kind, unless the kind is known.
func (k *kinds) discoverOnce(ctx context.Context, gvk schema.GroupVersionKind) error {
	if _, known := k.mapping(gvk); known {
		return nil
	}
	gv := gvk.GroupVersion()
	_, err := k.once(ctx, gv.String(), func() (any, error) {
		if _, known := k.mapping(gvk); known {
			return nil, nil //nolint:nilnil // The error is all that counts.
		}
		return nil, k.discover(gv)
	})
	return err
}

// once asks the target, one at a time for each key. Who waits gives up after 2 seconds, or with the context.
func (k *kinds) once(ctx context.Context, key string, ask func() (any, error)) (any, error) {
	t := time.NewTimer(slowAfter)
	defer t.Stop()
	select {
	case res := <-k.flight.DoChan(key, ask):
		return res.Val, res.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-t.C:
		return nil, unreachableError{cause: errSlow}
	}
}

// discover asks for the resources of one group and version, and wakes who waits for one of them. It returns no error if
// the list of groups confirms that it is not served.
func (k *kinds) discover(gv schema.GroupVersion) error {
	list := &metav1.APIResourceList{}
	err := k.client.Get().AbsPath(groupsPath(gv.Group) + "/" + gv.String()).Do(k.ctx).Into(list)
	if apierrors.IsNotFound(err) || IsUnserved(err) {
		served, gerr := k.groups(gv.Group)
		switch {
		case gerr == nil && !slices.Contains(served[gv.Group], gv.Version):
			return nil
		case IsUnreachable(gerr):
			err = gerr
		}
	}
	if err != nil {
		return errors.Wrapf(err, "cannot discover %s", gv)
	}
	for _, o := range k.add(gv, list.APIResources) {
		k.wake(o)
	}
	return nil
}

// add records that resources are served, and returns who has waited for them.
func (k *kinds) add(gv schema.GroupVersion, served []metav1.APIResource) (found []informer.Owner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range served {
		if strings.Contains(r.Name, "/") {
			continue // It is a subresource.
		}
		gvk := gv.WithKind(r.Kind)
		k.known[gvk] = Mapping{
			Resource:   gv.WithResource(r.Name),
			Namespaced: r.Namespaced,
			Readable:   slices.Contains(r.Verbs, "get"),
			Watchable:  slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch"),
		}
		for w := range k.waiting[gvk] {
			found = append(found, w.Owner)
		}
		delete(k.waiting, gvk)
	}
	return found
}

// groupsPath returns the path that tells whether a group is served.
func groupsPath(group string) string {
	if group == "" {
		return "/api"
	}
	return "/apis"
}

// groups asks for the versions that are served by group: of the core group, or of all others. Only an answer that lists
// them tells: a server or proxy which does not know the path knows nothing of kinds.
func (k *kinds) groups(group string) (map[string][]string, error) {
	get := k.client.Get().AbsPath(groupsPath(group)).Do(k.ctx)
	if group == "" {
		core := &metav1.APIVersions{}
		err := get.Into(core)
		return map[string][]string{"": core.Versions}, err
	}
	list, served := &metav1.APIGroupList{}, map[string][]string{}
	err := get.Into(list)
	for _, g := range list.Groups {
		for _, v := range g.Versions {
			served[g.Name] = append(served[g.Name], v.Version)
		}
	}
	return served, err
}

// Discovery returns a client that asks what the cluster serves, for what Mapping does not tell. Its requests end with
// the context, which the client's own methods do not take.
func (c *Cluster) Discovery(ctx context.Context) (discovery.DiscoveryInterface, error) {
	bound := *c.http
	bound.Transport = bounded{ctx: ctx, next: c.http.Transport}
	d, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, &bound)
	return d, errors.Wrap(err, "cannot make a discovery client from the kubeconfig")
}

// A bounded transport sends requests that end with a context.
type bounded struct {
	ctx  context.Context //nolint:containedctx // What the requests lack.
	next http.RoundTripper
}

// RoundTrip sends a request.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	return b.next.RoundTrip(req.WithContext(b.ctx))
}
