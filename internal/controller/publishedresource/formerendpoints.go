package publishedresource

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

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
		is, err := e.ask(ctx, f.URL, kcp.Bindings)
		if err != nil {
			unknown = cannotTell(errors.Wrapf(err, "endpoint %s is in no APIExportEndpointSlice any longer, "+
				"and consumers may be left there: bring its shard of kcp back, or set deletionPolicy: Orphan", f.URL))
			continue
		}
		if is.Len() > 0 {
			bound = append(bound, f.URL)
		}
	}
	return bound, unknown
}

// ask asks an endpoint which logical clusters have a resource of a kind.
func (e *external) ask(ctx context.Context, url string, kind schema.GroupVersionResource) (sets.Set[string], error) {
	cluster, _, err := e.endpoint(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := cluster.Ready(ctx); err != nil {
		return nil, err
	}
	list, err := cluster.Resource(kind, "").List(ctx, metav1.ListOptions{})
	clusters := sets.New[string]()
	for i := 0; err == nil && i < len(list.Items); i++ {
		clusters.Insert(list.Items[i].GetAnnotations()[kcp.AnnotationCluster])
	}
	return clusters, err
}

func urlsOf(all []v1alpha1.Endpoint) []string {
	var urls []string
	for _, e := range all {
		urls = append(urls, e.URL)
	}
	return urls
}
