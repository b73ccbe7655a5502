package publishedresource_test

import (
	"fmt"
	"net"
	neturl "net/url"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSeveralEndpoints shows that all endpoints of an APIExport are used, as a kcp of several shards has them: one that
// does not answer is named, and keeps no objects of others from being synced, and one that goes is forgotten.
func TestSeveralEndpoints(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishCerts(t, func(o *v1alpha1.PublishedResource) { o.Spec.Synchronization = &v1alpha1.Synchronization{} })
	in := s.tenant(t)
	up := s.endpointOf(t, exportName)
	down := unanswered(t, up)
	s.setEndpoints(t, down, up)
	s.awaitEndpoints(t, o, down, up)
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonNotServing), down)
	if m := o.GetCondition(v1alpha1.TypeEndpointsReady).Message; strings.Contains(m, up) {
		t.Errorf("want the endpoint named that does not answer, and no other, got %q", m)
	}
	update(t, s.c, o, func() { o.Spec.Synchronization.Enabled = true })
	kube.Create(t, in, s.cert("one"))
	s.copyOf(t, in)
	s.setEndpoints(t, up)
	s.awaitEndpoints(t, o, up)
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))
}

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

// TestEndpointWithoutAPI shows that an endpoint which answers, and shows the bindings it has, but does not serve the
// API is named. It is that of a second APIExport, which offers nothing.
func TestEndpointWithoutAPI(t *testing.T) {
	t.Parallel()
	const second = "second.example.com"
	s := newShop(t, exportName, second)
	s.connect(t, s.agent(t, second))
	o := s.publishHats(t)
	_, consumer := workspaces.Workspace(t)
	kcp.AwaitBound(t, consumer, kcp.Bind(t, consumer, s.path, second))
	update(t, s.c, o, func() { o.Spec.APIExport = &commonv1.APIExport{Name: exportName, EndpointSlice: second} })
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonNotServing), s.endpointOf(t, second))
	await(t, s.c, o, isNot(xpv2.TypeReady, ""))
}

// unanswered returns the URL of an endpoint that nobody listens at, and that comes before another one.
func unanswered(t *testing.T, other string) string {
	t.Helper()
	u, err := neturl.Parse(other)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = net.JoinHostPort(u.Hostname(), "1")
	if u.String() >= other {
		t.Fatalf("%s does not come before %s", u, other)
	}
	return u.String()
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

// setEndpoints writes the endpoints, as the shards of a kcp do.
func (s *shop) setEndpoints(t *testing.T, urls ...string) {
	t.Helper()
	in := kcp.Client(t, s.admin)
	kube.Eventually(t, "update of the endpoints", func() (bool, string) {
		slice := &apisv1alpha1.APIExportEndpointSlice{}
		if err := in.Get(t.Context(), types.NamespacedName{Name: exportName}, slice); err != nil {
			return false, err.Error()
		}
		slice.Status.APIExportEndpoints = nil
		for _, url := range urls {
			slice.Status.APIExportEndpoints = append(slice.Status.APIExportEndpoints,
				apisv1alpha1.APIExportEndpoint{URL: url})
		}
		if err := in.Status().Update(t.Context(), slice); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
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
