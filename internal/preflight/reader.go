package preflight

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

var (
	definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	packages    = schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: "v1", Resource: "providers"}
	runtimes    = schema.GroupVersionResource{
		Group: "pkg.crossplane.io", Version: "v1beta1", Resource: "deploymentruntimeconfigs",
	}
	locks   = schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: "v1beta1", Resource: "locks"}
	secrets = corev1.SchemeGroupVersion.WithResource("secrets")
)

// pageSize is how many objects are read at a time. A CustomResourceDefinition may have a megabyte.
const pageSize = 50

// A reader reads the control plane. It only gets and lists. What it cannot read it adds to a tally.
type reader struct {
	t         *tally
	discovery discovery.DiscoveryInterface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	groups    *metav1.APIGroupList
}

// newReader returns a reader of a control plane that answers.
func newReader(t *tally, cfg *rest.Config) (*reader, error) {
	r := &reader{t: t}
	var err error
	if r.discovery, err = discovery.NewDiscoveryClientForConfig(cfg); err != nil {
		return nil, errors.Wrap(err, "cannot create discovery client")
	}
	if r.dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, errors.Wrap(err, "cannot create client")
	}
	if r.metadata, err = metadata.NewForConfig(cfg); err != nil {
		return nil, errors.Wrap(err, "cannot create client of metadata")
	}
	r.groups, err = r.discovery.ServerGroups()
	return r, errors.Wrap(err, "cannot discover what the control plane serves")
}

// serves reports whether the control plane serves a resource, as its lists say. That an answer is 404 proves nothing.
func (r *reader) serves(at schema.GroupVersionResource) (bool, error) {
	if !slices.ContainsFunc(r.groups.Groups, func(g metav1.APIGroup) bool {
		return g.Name == at.Group && slices.ContainsFunc(g.Versions,
			func(v metav1.GroupVersionForDiscovery) bool { return v.Version == at.Version })
	}) {
		return false, nil
	}
	list, err := r.discovery.ServerResourcesForGroupVersion(at.GroupVersion().String())
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Name == at.Resource }), nil
}

// eachServed is each for a resource that need not be served, and then has no objects.
func (r *reader) eachServed(
	ctx context.Context, at schema.GroupVersionResource, f func(*unstructured.Unstructured),
) bool {
	served, err := r.serves(at)
	if err != nil {
		r.failed("list", at.GroupResource(), err)
	}
	return err == nil && (!served || r.each(ctx, at, f))
}

// each calls f with each object of a resource in all namespaces, and reports whether it could read them all.
func (r *reader) each(ctx context.Context, at schema.GroupVersionResource, f func(*unstructured.Unstructured)) bool {
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return r.dynamic.Resource(at).List(ctx, o)
	}
	return r.pages(ctx, at, list, func(o runtime.Object) {
		if u, ok := o.(*unstructured.Unstructured); ok {
			f(u)
		}
	})
}

// pages calls f with each object of a list that comes in pages, and reports whether it could read them all.
func (r *reader) pages(
	ctx context.Context, at schema.GroupVersionResource, list pager.ListPageFunc, f func(runtime.Object),
) bool {
	p := pager.New(list)
	p.PageSize = pageSize
	err := p.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error { f(o); return nil })
	if err != nil {
		r.failed("list", at.GroupResource(), err)
	}
	return err == nil
}

// definitions returns the CustomResourceDefinitions that are wanted, by their names, and reports whether all are known.
func (r *reader) definitions(ctx context.Context, wanted func(*unstructured.Unstructured) bool) (
	map[string]*apiextensionsv1.CustomResourceDefinition, bool,
) {
	found, err := map[string]*apiextensionsv1.CustomResourceDefinition{}, error(nil)
	known := r.each(ctx, definitions, func(u *unstructured.Unstructured) {
		if wanted(u) {
			d := &apiextensionsv1.CustomResourceDefinition{}
			err = cmp.Or(err, decode(u, d))
			found[u.GetName()] = d
		}
	})
	if err != nil {
		r.failed("read", definitions.GroupResource(), err)
	}
	return found, known && err == nil
}

// states returns how many states of an agent each namespace holds, as far as that can be read. Only metadata are read.
func (r *reader) states(ctx context.Context) map[string]int {
	found := map[string]int{}
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.LabelSelector = objectsync.LabelState + "=true"
		return r.metadata.Resource(secrets).List(ctx, o)
	}
	r.pages(ctx, secrets, list, func(o runtime.Object) {
		if m, ok := o.(*metav1.PartialObjectMetadata); ok {
			found[m.GetNamespace()]++
		}
	})
	return found
}

// failed adds that something could not be looked at.
func (r *reader) failed(verb string, at schema.GroupResource, err error) {
	r.t.add(cannotLook(verb, at, err), "")
}

// cannotLook returns the verdict on a resource that could not be read.
func cannotLook(verb string, at schema.GroupResource, err error) verdict {
	if apierrors.IsForbidden(err) {
		return unknown(at.String(), "the control plane denies it",
			"grant the user of the kubeconfig by a ClusterRole: apiGroups: ["+
				strconv.Quote(at.Group)+"], resources: ["+at.Resource+"], verbs: ["+verb+"]")
	}
	return unknown(at.String(), "cannot "+verb+" it: "+err.Error(), "")
}
