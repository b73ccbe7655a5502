package clusters

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/rest"
)

// unservedFor is how long it counts as known that a target does not serve a kind.
const unservedFor = 2 * time.Second

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
	client rest.Interface
	life   context.Context    //nolint:containedctx // The life of the cluster, which the requests share.
	flight singleflight.Group // one request for each kind or path at a time

	lock     sync.Mutex
	served   map[schema.GroupVersionKind]Mapping // of kinds that somebody has asked for, not of all that are served
	unserved *cache.Expiring                     // kinds that were not served a moment ago
}

// Mapping returns how the cluster serves a kind. The error satisfies IsNoKind if it does not.
func (k *kinds) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (Mapping, error) {
	m, err := k.ask(ctx, gvk)
	if err == nil && m == (Mapping{}) {
		err = noKindError{gvk: gvk}
	}
	return m, err
}

// Mappings returns how the cluster serves each of some kinds. Those it does not serve are missing from the result.
// Nobody is told when they come: who waits for one asks again.
func (k *kinds) Mappings(
	ctx context.Context, gvks ...schema.GroupVersionKind,
) (map[schema.GroupVersionKind]Mapping, error) {
	served := make(map[schema.GroupVersionKind]Mapping, len(gvks))
	for _, gvk := range gvks {
		m, err := k.ask(ctx, gvk, gvks...)
		if err != nil {
			return nil, err
		}
		if m != (Mapping{}) {
			served[gvk] = m
		}
	}
	return served, nil
}

// Locate is Mapping for what was made of a kind: another version will do. It returns whether there is one.
func (k *kinds) Locate(ctx context.Context, gvk schema.GroupVersionKind) (Mapping, bool, error) {
	m, err := k.Mapping(ctx, gvk)
	if IsNoKind(err) {
		return k.Find(ctx, gvk.GroupKind())
	}
	return m, err == nil, err
}

// Find returns how the cluster serves a kind in any version, and whether it does.
func (k *kinds) Find(ctx context.Context, gk schema.GroupKind) (Mapping, bool, error) {
	served, err := k.once(ctx, groupsPath(gk.Group)+gk.Group, func() (any, error) { return k.Versions(gk.Group) })
	if err != nil {
		return Mapping{}, false, errors.Wrap(err, "cannot discover groups")
	}
	versions, _ := served.([]string)
	for _, v := range versions {
		if m, err := k.ask(ctx, gk.WithVersion(v)); err != nil || m != (Mapping{}) {
			return m, err == nil, err
		}
	}
	return Mapping{}, false, nil
}

// Authorized returns nil if the target shows what it serves. It is asked each time, as credentials may be revoked.
func (k *kinds) Authorized(ctx context.Context) error {
	_, err := k.once(ctx, groupsPath(""), func() (any, error) { return k.list(groupsPath("")) })
	return errors.Wrap(err, "cannot discover groups")
}

// InvalidateMapping forgets how the cluster serves a kind, because the cluster has answered as if it did not.
func (k *kinds) InvalidateMapping(gvk schema.GroupVersionKind) {
	k.lock.Lock()
	defer k.lock.Unlock()
	delete(k.served, gvk)
}

// mapping returns what is known of a kind, and whether the target need not be asked.
func (k *kinds) mapping(gvk schema.GroupVersionKind) (m Mapping, settled bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	if m, served := k.served[gvk]; served {
		return m, true
	}
	_, unserved := k.unserved.Get(gvk)
	return Mapping{}, unserved
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
	switch {
	case !apierrors.IsForbidden(err):
	case strings.Contains(err.Error(), `User "system:anonymous"`): // Rights of this user would be everybody's.
		err = errors.Wrap(err, "the kubeconfig has no credentials: add a token or a client certificate, or set spec.identity")
	default:
		err = errors.Wrap(err, "the user needs ClusterRole system:discovery, or in kcp access to the workspace")
	}
	if err != nil {
		return errors.Wrapf(err, "cannot discover %s", gv)
	}
	k.keep(gv, list.APIResources, wanted)
	return nil
}

// keep takes in what a target serves of the kinds that are wanted of a group and version.
func (k *kinds) keep(gv schema.GroupVersion, served []metav1.APIResource, wanted []schema.GroupVersionKind) {
	k.lock.Lock()
	defer k.lock.Unlock()
	for _, w := range wanted {
		delete(k.served, w)
		k.unserved.Set(w, nil, unservedFor)
	}
	for _, r := range served {
		is := gv.WithKind(r.Kind)
		if slices.Contains(wanted, is) && !strings.Contains(r.Name, "/") { // It is no subresource.
			k.unserved.Delete(is)
			k.served[is] = Mapping{
				Resource:   gv.WithResource(r.Name),
				Namespaced: r.Namespaced,
				Readable:   slices.Contains(r.Verbs, "get"),
				Watchable:  slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch"),
				Status:     slices.ContainsFunc(served, func(s metav1.APIResource) bool { return s.Name == r.Name+"/status" }),
			}
		}
	}
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
