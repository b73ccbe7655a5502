package target

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// discoveryTimeout is how long one request of a discovery may take that nobody waits for any more.
const discoveryTimeout = 10 * time.Second

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

// discoverOnce discovers the group and version of a kind, unless somebody else just has.
func (k *kinds) discoverOnce(ctx context.Context, gvk schema.GroupVersionKind) error {
	gv := gvk.GroupVersion()
	_, err := k.once(ctx, gv.String(), func(ctx context.Context) (any, error) {
		k.mu.Lock()
		_, ok := k.known[gvk]
		k.mu.Unlock()
		if ok {
			return nil, nil //nolint:nilnil // The error is all that counts.
		}
		err := k.discover(ctx, gv)
		if apierrors.IsNotFound(err) || IsUnserved(err) {
			err = k.confirm(ctx, gv, err)
		}
		return nil, err
	})
	return err
}

// once calls a function that asks the target, one at a time for each key. All who wait for it give up after a while, or
// with their context; it has a deadline of its own.
func (k *kinds) once(ctx context.Context, key string, ask func(context.Context) (any, error)) (any, error) {
	silent := unreachableError{cause: errSlow}
	done := k.flight.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(k.ctx, discoveryTimeout)
		defer cancel()
		found, err := ask(ctx)
		if err != nil && ctx.Err() != nil {
			err = silent // Whatever part of the answer was waited for.
		}
		return found, err
	})
	t := time.NewTimer(slowAfter)
	defer t.Stop()
	select {
	case res := <-done:
		return res.Val, res.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-t.C:
		return nil, silent
	}
}

// find returns how the target serves a kind in any version, and whether it does.
func (k *kinds) find(ctx context.Context, gk schema.GroupKind) (Mapping, bool, error) {
	versions, err := k.versions(ctx, gk.Group)
	if err != nil {
		return Mapping{}, false, err
	}
	for _, v := range versions {
		gvk := gk.WithVersion(v)
		if err := k.discoverOnce(ctx, gvk); err != nil {
			return Mapping{}, false, err
		}
		k.mu.Lock()
		m, ok := k.known[gvk]
		k.mu.Unlock()
		if ok {
			return m, true, nil
		}
	}
	return Mapping{}, false, nil
}

// versions returns the versions of a group that the target serves.
func (k *kinds) versions(ctx context.Context, group string) ([]string, error) {
	path := groupsPath(group)
	versions, err := k.once(ctx, path, func(ctx context.Context) (any, error) { return k.groups(ctx, path) })
	served, _ := versions.(map[string][]string)
	return served[group], errors.Wrap(err, "cannot discover groups")
}

// groupsPath returns the path that tells whether a group is served.
func groupsPath(group string) string {
	if group == "" {
		return "/api"
	}
	return "/apis"
}

// groups asks for the versions that are served by group. Only an answer that lists them tells: a server or proxy which
// does not know the path knows nothing of kinds.
func (k *kinds) groups(ctx context.Context, path string) (map[string][]string, error) {
	served := map[string][]string{}
	if path == "/api" {
		core := &metav1.APIVersions{}
		err := k.client.Get().AbsPath(path).Do(ctx).Into(core)
		served[""] = core.Versions
		return served, err
	}
	list := &metav1.APIGroupList{}
	err := k.client.Get().AbsPath(path).Do(ctx).Into(list)
	for _, g := range list.Groups {
		for _, v := range g.Versions {
			served[g.Name] = append(served[g.Name], v.Version)
		}
	}
	return served, err
}

// confirm returns no error if the target tells that it does not serve a group and version, and otherwise the error of
// its discovery.
func (k *kinds) confirm(ctx context.Context, gv schema.GroupVersion, cause error) error {
	served, err := k.groups(ctx, groupsPath(gv.Group))
	if err != nil || slices.Contains(served[gv.Group], gv.Version) {
		return cause
	}
	return nil
}

// discover asks for the resources of one group and version.
func (k *kinds) discover(ctx context.Context, gv schema.GroupVersion) error {
	list := &metav1.APIResourceList{}
	path := groupsPath(gv.Group) + "/" + gv.String()
	if err := k.client.Get().AbsPath(path).Do(ctx).Into(list); err != nil {
		return errors.Wrapf(err, "cannot discover %s", gv)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range list.APIResources {
		if isSubresource(r) {
			continue
		}
		k.known[gv.WithKind(r.Kind)] = Mapping{
			Resource:   gv.WithResource(r.Name),
			Namespaced: r.Namespaced,
			Watchable:  slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch"),
		}
	}
	return nil
}

func isSubresource(r metav1.APIResource) bool { return strings.Contains(r.Name, "/") }
