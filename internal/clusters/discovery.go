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
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// unservedFor is how long it counts as known that a target does not serve a kind.
	unservedFor = 2 * time.Second
	// forgetAfter is when that is forgotten.
	forgetAfter = 2 * time.Minute
)

// A Mapping is how a target serves a kind. It is zero if the target does not.
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
	// Status reports whether the target serves subresource status of the kind.
	Status bool
}

// kinds knows which kinds a target serves, as far as anybody has asked.
type kinds struct {
	client  rest.Interface
	found   func() // called when a kind is served that was not
	explain func(informer.Owner, error) error
	life    context.Context    //nolint:containedctx // The life of the cluster, which the requests share.
	flight  singleflight.Group // one request for each kind or path at a time

	lock  sync.Mutex
	known map[schema.GroupVersionKind]answer // of kinds that somebody has asked for, not of all that are served
}

// An answer is what a target has said of a kind.
type answer struct {
	Mapping

	at time.Time
}

// Mapping returns how the cluster serves a kind. The error satisfies IsNoKind if it does not.
func (k *kinds) Mapping(ctx context.Context, o informer.Owner, gvk schema.GroupVersionKind) (Mapping, error) {
	m, err := k.ask(ctx, gvk)
	if err == nil && m == (Mapping{}) {
		err = noKindError{gvk: gvk}
	}
	return m, k.explain(o, err)
}

// Mappings returns how the cluster serves each of the kinds an owner needs. Kinds it does not serve are missing from
// the result. Nobody is told when they come: who waits for one asks again.
func (k *kinds) Mappings(
	ctx context.Context, o informer.Owner, gvks ...schema.GroupVersionKind,
) (map[schema.GroupVersionKind]Mapping, error) {
	served := make(map[schema.GroupVersionKind]Mapping, len(gvks))
	for _, gvk := range gvks {
		m, err := k.ask(ctx, gvk, gvks...)
		if err != nil {
			return nil, k.explain(o, err)
		}
		if m != (Mapping{}) {
			served[gvk] = m
		}
	}
	return served, nil
}

// Locate is Mapping for what was made of a kind: another version will do. It returns whether there is one.
func (k *kinds) Locate(ctx context.Context, o informer.Owner, gvk schema.GroupVersionKind) (Mapping, bool, error) {
	m, err := k.Mapping(ctx, o, gvk)
	if IsNoKind(err) {
		return k.Find(ctx, o, gvk.GroupKind())
	}
	return m, err == nil, err
}

// Find returns how the cluster serves a kind in any version, and whether it does.
func (k *kinds) Find(ctx context.Context, o informer.Owner, gk schema.GroupKind) (Mapping, bool, error) {
	served, err := k.once(ctx, groupsPath(gk.Group)+gk.Group, func() (any, error) { return k.Versions(gk.Group) })
	if err != nil {
		return Mapping{}, false, k.explain(o, errors.Wrap(err, "cannot discover groups"))
	}
	versions, _ := served.([]string)
	for _, v := range versions {
		if m, err := k.ask(ctx, gk.WithVersion(v)); err != nil || m != (Mapping{}) {
			return m, err == nil, k.explain(o, err)
		}
	}
	return Mapping{}, false, nil
}

// Authorized returns nil if the target shows an owner what it serves. It is asked each time, as credentials may be
// revoked.
func (k *kinds) Authorized(ctx context.Context, o informer.Owner) error {
	_, err := k.once(ctx, groupsPath(""), func() (any, error) { return k.list(groupsPath("")) })
	return k.explain(o, errors.Wrap(err, "cannot discover groups"))
}

// InvalidateMapping forgets how the cluster serves a kind, because the cluster has answered as if it did not. What it
// has said just now holds.
func (k *kinds) InvalidateMapping(gvk schema.GroupVersionKind) {
	k.lock.Lock()
	defer k.lock.Unlock()
	if a := k.known[gvk]; time.Since(a.at) >= unservedFor {
		k.known[gvk] = answer{at: time.Now().Add(-unservedFor)}
	}
}

// mapping returns what is known of a kind, and whether the target need not be asked.
func (k *kinds) mapping(gvk schema.GroupVersionKind) (m Mapping, settled bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	a := k.known[gvk]
	return a.Mapping, a.Mapping != (Mapping{}) || time.Since(a.at) < unservedFor
}

// ask returns how the target serves a kind, which it asks for unless that is known when its turn comes. Of other kinds
// of the same group and version it keeps those that are wanted, too.
func (k *kinds) ask(ctx context.Context, gvk schema.GroupVersionKind,
	wanted ...schema.GroupVersionKind,
) (Mapping, error) {
	if m, settled := k.mapping(gvk); settled {
		return m, nil
	}
	wanted = slices.DeleteFunc(append(slices.Clone(wanted), gvk),
		func(w schema.GroupVersionKind) bool { return w.GroupVersion() != gvk.GroupVersion() })
	res, err := k.once(ctx, gvk.String(), func() (any, error) {
		if m, settled := k.mapping(gvk); settled {
			return m, nil
		}
		err := k.discover(gvk.GroupVersion(), wanted)
		m, _ := k.mapping(gvk)
		return m, err
	})
	m, _ := res.(Mapping)
	return m, err
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

// discover asks for the resources of a group and version, and keeps those of the kinds that are wanted.
// None is served if the list of groups confirms that.
func (k *kinds) discover(gv schema.GroupVersion, wanted []schema.GroupVersionKind) error {
	list := &metav1.APIResourceList{}
	err := k.client.Get().AbsPath(groupsPath(gv.Group) + "/" + gv.String()).Do(k.life).Into(list)
	if apierrors.IsNotFound(err) || IsUnserved(err) {
		served, gerr := k.Versions(gv.Group)
		switch {
		case gerr == nil && !slices.Contains(served, gv.Version):
			err = nil
		case IsUnreachable(gerr):
			err = gerr
		}
	}
	if err != nil {
		return errors.Wrapf(err, "cannot discover %s", gv)
	}
	if k.keep(gv, list.APIResources, wanted) {
		k.found()
	}
	return nil
}

// keep takes in what a target serves of the kinds that are wanted of a group and version, and reports whether one of
// them was not served before.
func (k *kinds) keep(gv schema.GroupVersion, served []metav1.APIResource,
	wanted []schema.GroupVersionKind,
) (late bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	now := time.Now()
	maps.DeleteFunc(k.known, func(_ schema.GroupVersionKind, a answer) bool {
		return a.Mapping == (Mapping{}) && now.Sub(a.at) > forgetAfter
	})
	var missing []schema.GroupVersionKind
	for _, w := range wanted {
		if a, asked := k.known[w]; asked && a.Mapping == (Mapping{}) && a.at.Before(now) {
			missing = append(missing, w)
		}
		k.known[w] = answer{at: now}
	}
	for _, r := range served {
		is := gv.WithKind(r.Kind)
		if slices.Contains(wanted, is) && !strings.Contains(r.Name, "/") { // It is no subresource.
			late = late || slices.Contains(missing, is)
			k.known[is] = answer{at: now, Mapping: Mapping{
				Resource:   gv.WithResource(r.Name),
				Namespaced: r.Namespaced,
				Readable:   slices.Contains(r.Verbs, "get"),
				Watchable:  slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch"),
				Status:     slices.ContainsFunc(served, func(s metav1.APIResource) bool { return s.Name == r.Name+"/status" }),
			}}
		}
	}
	return late
}

// groupsPath returns the path that tells whether a group is served.
func groupsPath(group string) string {
	if group == "" {
		return "/api"
	}
	return "/apis"
}

// Versions returns the versions of a group that are served.
func (k *kinds) Versions(group string) (served []string, err error) {
	all, err := k.list(groupsPath(group))
	for _, gv := range all {
		if gv.Group == group {
			served = append(served, gv.Version)
		}
	}
	return served, err
}

// list returns the versions of groups that a path of groupsPath lists. Only an answer that lists groups tells: a
// server or proxy which does not know the path knows nothing of kinds.
func (k *kinds) list(path string) (all []schema.GroupVersion, err error) {
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
