package publishedresource_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestEndpointSliceComes shows that nothing fails for long because an APIExportEndpointSlice is not there yet: an API
// is published without, which is reported, and one that names its APIExport by the slice alone is published as soon as
// there is one.
func TestEndpointSliceComes(t *testing.T) {
	t.Parallel()
	const late = "late.example.com"
	s := openShop(t)
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, s.admin)) // The least rights do not reach a second slice.
	kube.Create(t, s.c, definition(s.group, "hats"))
	kube.Create(t, s.c, definition(s.group, "coats"))
	without, by := s.published("hats", "Hat"), s.published("coats", "Coat")
	without.Spec.APIExport = &commonv1.APIExport{Name: exportName, EndpointSlice: late}
	by.Spec.APIExport = &commonv1.APIExport{EndpointSlice: late}
	kube.Create(t, s.c, without, by)
	await(t, s.c, without, is(v1alpha1.TypeExportUpdated, v1alpha1.ReasonUpdated),
		isNot(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonEndpointSliceMissing))
	awaitMessage(t, s.c, by, isNot(xpv2.TypeSynced, v1alpha1.ReasonExportMissing), late)

	slice := &apisv1alpha1.APIExportEndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: late}}
	slice.Spec.APIExport = apisv1alpha1.ExportBindingReference{Path: s.path, Name: exportName}
	s.create(t, slice)
	awaitPublished(t, s.c, without)
	awaitPublished(t, s.c, by)
}

// TestSliceElsewhere shows that an API is published by the APIExport that an APIExportEndpointSlice names, in the
// workspace that it names, and withdrawn there, and nothing by an APIExport of that name beside the slice.
func TestSliceElsewhere(t *testing.T) {
	t.Parallel()
	const elsewhere = "elsewhere"
	s := openShop(t)
	_, admin := workspaces.Workspace(t)
	slice := &apisv1alpha1.APIExportEndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}}
	slice.Spec.APIExport = apisv1alpha1.ExportBindingReference{Path: s.path, Name: exportName}
	beside, namesake := kcp.Client(t, admin), kcp.Export(exportName)
	kube.Create(t, beside, namesake, slice)
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, admin))
	setConfig(t, s.c, s.config, s.config,
		&commonv1.KCPConnection{APIExport: &commonv1.APIExport{EndpointSlice: elsewhere}})
	kube.Create(t, s.c, definition(s.group, "hats"))
	o := s.published("hats", "Hat")
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	if e := s.export(t); schemaOf(e, "hats") == "" {
		t.Errorf("the APIExport of the slice: want it to offer hats, got %v", e.Spec.Resources)
	}
	s.consumer(t, exportName)
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))
	update(t, s.c, o, func() { withdrawn(o) })
	remove(t, s.c, o)
	if e := s.export(t); len(e.Spec.Resources) > 0 {
		t.Errorf("the APIExport of the slice: want hats withdrawn, got %v", e.Spec.Resources)
	}
	kube.Get(t, beside, client.ObjectKeyFromObject(namesake), namesake)
	if len(namesake.Spec.Resources)+len(namesake.Spec.PermissionClaims) > 0 {
		t.Errorf("the APIExport of the same name beside the slice: want it untouched, got %v", namesake.Spec)
	}
}

// TestEndpointWithoutAPI shows that an endpoint which answers, and shows the bindings it has, but does not serve the
// API is named. It is that of a second APIExport, which offers nothing.
func TestEndpointWithoutAPI(t *testing.T) {
	t.Parallel()
	const second = "second.example.com"
	s := newShop(t, exportName, second)
	s.connect(t, s.agent(t, second))
	o := s.publish(t, "hats")
	s.consumer(t, second)
	update(t, s.c, o, func() { o.Spec.APIExport = &commonv1.APIExport{Name: exportName, EndpointSlice: second} })
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonNotServing), s.endpointOf(t, second))
	await(t, s.c, o, isNot(xpv2.TypeReady, ""))
}

// TestSyncFailingList shows that a workspace which is known to be bound, and its objects that are known, are synced
// while kcp answers lists of all workspaces with 500, as for an object of nearly 10,000 levels; that the
// PublishedResource says so; and that all goes on when it is gone, also what was deleted meanwhile.
func TestSyncFailingList(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	lasts, cut := context.WithCancel(t.Context())
	s := newShop(t, exportName)
	s.connect(t, kcp.Front(t, s.agent(t), func(server *httputil.ReverseProxy) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			of := path.Base(r.URL.Path)
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			switch {
			case !strings.Contains(r.URL.Path, clusters.AllClusters) || of != "apibindings" && of != "certs":
			case fails.Load():
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"max depth","code":500}`))
				return
			case lasts.Err() == nil:
				defer context.AfterFunc(lasts, cancel)()
			}
			server.ServeHTTP(w, r.WithContext(ctx))
		})
	}))
	o := s.publishCerts(t)
	in := s.tenant(t)
	kube.Create(t, in, s.cert("web"))
	copied := s.copyOf(t, in)
	fails.Store(true)
	cut()
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonNotServing), "max depth")
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonObjectsNotSynced), "max depth")
	s.issue(t, copied, "a")
	awaitIssued(t, in, s.cert("web"), "a")
	kube.Delete(t, in, s.cert("web"))
	fails.Store(false)
	kube.Create(t, in, s.cert("later"))
	s.copyNamed(t, in, "later")
	kube.AwaitGone(t, s.c, copied)
	awaitCounts(t, s.c, o, 1, 0)
}

// endpoints returns those that kcp has given the APIExport.
func (s *shop) endpoints(t *testing.T) []string {
	t.Helper()
	slice := &apisv1alpha1.APIExportEndpointSlice{}
	kube.Get(t, kcp.Client(t, s.admin), types.NamespacedName{Name: exportName}, slice)
	var urls []string
	for _, e := range slice.Status.APIExportEndpoints {
		urls = append(urls, e.URL)
	}
	return urls
}

// endpointOf waits for the endpoint of an APIExport.
func (s *shop) endpointOf(t *testing.T, export string) (url string) {
	t.Helper()
	kube.Eventually(t, "endpoint of "+export, func() (bool, string) {
		slice := &apisv1alpha1.APIExportEndpointSlice{}
		if err := kcp.Client(t, s.admin).Get(t.Context(), types.NamespacedName{Name: export}, slice); err != nil {
			return false, err.Error()
		}
		for _, e := range slice.Status.APIExportEndpoints {
			url = e.URL
		}
		return url != "", "there is none"
	})
	return url
}

// awaitEndpoints waits until a PublishedResource has all endpoints in its status.
func (s *shop) awaitEndpoints(t *testing.T, o *v1alpha1.PublishedResource, urls ...string) {
	t.Helper()
	kube.Await(t, s.c, o, strings.Join(urls, " and ")+" in the status", func() (bool, string) {
		var got []string
		for _, e := range o.Status.Endpoints {
			got = append(got, e.URL)
		}
		return slices.Equal(got, urls), fmt.Sprint(got)
	})
}
