package publishedresource_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	clusterlocal "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// selected selects, as related objects, the Secrets of the service cluster whose label says what a template does.
func selected(of string) v1alpha1.RelatedResource {
	selector := &v1alpha1.RelatedResourceSelector{
		LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"of": of}},
		Rewrite: v1alpha1.SelectorRewrite{Template: &v1alpha1.TemplateExpression{
			Template: "{{ .RemoteObject.metadata.name }}-found",
		}},
	}
	return v1alpha1.RelatedResource{
		Identifier: "found", Origin: v1alpha1.OriginService, Kind: "Secret", Cleanup: true,
		Object: &v1alpha1.RelatedResourceObject{
			RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{Selector: selector},
		},
	}
}

// TestSyncRelatedRequests shows that related objects of both origins, named and selected, are copied and followed
// without a read, and that a change of one costs one write of its copy and one for what is remembered.
func TestSyncRelatedRequests(t *testing.T) {
	s := openShop(t)
	s.publishCerts(t, func(o *v1alpha1.PublishedResource) {
		o.Spec.Related = append(o.Spec.Related, selected("{{ .RemoteObject.metadata.name }}"))
	})
	in := s.tenant(t)
	kube.Create(t, in, s.cert("first")) // For which the namespace is made, and its Secrets are listed.
	s.copyOf(t, in)
	a := s.account(t)
	a.awaitRest(t, 3*time.Second)

	key, tls, found := secretIn(metav1.NamespaceDefault, "web-key", "a"), secretIn(in.cluster, "web-tls",
		"b"), secretIn(in.cluster, "any", "c")
	found.Labels = map[string]string{"of": "web"}
	web := s.cert("web")
	web.Object["spec"].(map[string]any)["keyName"] = key.Name
	kube.Create(t, in, key, web)
	kube.Create(t, s.c, tls, found)
	awaitValue(t, s.c, in.cluster, "web-key", "a")
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "b")
	awaitValue(t, in, metav1.NamespaceDefault, "web-found", "c")
	kube.Throughout(t, time.Second, "the copies exist",
		func() (bool, string) { return len(s.copies(t, in)) == 2, "they do not" })
	below, inKCP := a.requests()
	if read := reads(append(below, inKCP...)); len(read) > 0 {
		t.Errorf("want nothing read for new related objects, got\n%s", read)
	}

	a.awaitRest(t, time.Second)
	kube.Patch(t, in, key, `{"stringData":{"key":"d"}}`)
	awaitValue(t, s.c, in.cluster, "web-key", "d")
	a.wantChange(t, map[string]int{"patch secrets": 2}, nil)
	kube.Patch(t, s.c, tls, `{"stringData":{"key":"e"}}`)
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "e")
	a.wantChange(t, map[string]int{"patch secrets": 1}, map[string]int{"patch secrets": 1})
	kube.Patch(t, s.c, found, `{"stringData":{"key":"f"}}`)
	awaitValue(t, in, metav1.NamespaceDefault, "web-found", "f")
	a.wantChange(t, map[string]int{"patch secrets": 1}, map[string]int{"patch secrets": 1})
}

// wantChange checks what is asked of the service cluster and of kcp for a change, and forgets it.
func (a *account) wantChange(t *testing.T, below, inKCP map[string]int) {
	t.Helper()
	as := func() (bool, string) {
		gotBelow, gotInKCP := a.requests()
		diff := cmp.Diff([]map[string]int{below, inKCP}, []map[string]int{gotBelow.Count(), gotInKCP.Count()})
		return diff == "", diff + gotBelow.String() + gotInKCP.String()
	}
	kube.Eventually(t, "the requests for a change", as)
	kube.Throughout(t, time.Second, "the requests for a change", as)
	a.reset()
}

// reads returns the requests that change nothing.
func reads(r kube.Requests) kube.Requests {
	return slices.DeleteFunc(r, func(e clusterlocal.AuditEvent) bool { return e.Verb != "get" && e.Verb != "list" })
}
