package publishedresource

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

// formerMost is how many former endpoints the status names.
const formerMost = 20

// noteEndpoints records in the status which endpoints there are, and which there have been.
func noteEndpoints(s *v1alpha1.PublishedResourceStatus, urls []string) {
	former := slices.Concat(s.FormerEndpoints, s.Endpoints)
	s.Endpoints = nil
	for _, url := range urls {
		s.Endpoints = append(s.Endpoints, v1alpha1.Endpoint{URL: url})
	}
	s.FormerEndpoints = slices.DeleteFunc(former,
		func(f v1alpha1.Endpoint) bool { return slices.Contains(s.Endpoints, f) })
	if more := len(s.FormerEndpoints) - formerMost; more > 0 {
		s.FormerEndpoints = s.FormerEndpoints[more:]
	}
}

// askFormer asks the endpoints that kcp names no more whether a workspace binds the APIExport there all the same, and
// returns those where one does. That kcp names no endpoint does not mean that there are no consumers: a shard may be
// away for a moment.
func (e *external) askFormer(ctx context.Context, o *v1alpha1.PublishedResource) ([]string, error) {
	var named, bound []string
	if e.state.slice != nil {
		named = kcp.Endpoints(e.state.slice)
	}
	e.keepEndpoints(slices.Concat(named, urlsOf(o.Status.FormerEndpoints)))
	var unknown error
	for _, f := range o.Status.FormerEndpoints {
		if slices.Contains(named, f.URL) {
			continue
		}
		is, err := e.has(ctx, f.URL, kcp.Bindings)
		if err != nil {
			unknown = cannotTell(errors.Wrapf(err, "endpoint %s, which kcp names no more", f.URL))
			continue
		}
		if is {
			bound = append(bound, f.URL)
		}
	}
	return bound, unknown
}

// has asks an endpoint whether it has any resource of a kind, in whatever workspace.
func (e *external) has(ctx context.Context, url string, kind schema.GroupVersionResource) (bool, error) {
	cluster, _, err := e.endpoint(ctx, url)
	if err != nil {
		return false, err
	}
	if err := cluster.Ready(ctx); err != nil {
		return false, err
	}
	list, err := cluster.Resource(kind, "").List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil && len(list.Items) > 0, err
}

func urlsOf(all []v1alpha1.Endpoint) []string {
	var urls []string
	for _, e := range all {
		urls = append(urls, e.URL)
	}
	return urls
}
