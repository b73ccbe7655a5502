package publishedresource_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	kcpapi "github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestNamesakesAreListed shows that a stream that begins when several workspaces have bindings of one name shows all of
// them, as it does after a restart of the provider or of kcp.
func TestNamesakesAreListed(t *testing.T) {
	t.Parallel()
	const many = 3
	s := openShop(t)
	s.publishHats(t)
	for range many {
		s.binder(t)
	}
	cfg := rest.CopyConfig(s.admin)
	cfg.Host = s.endpoints(t)[0] + "/clusters/*"
	d, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	set := informer.NewSet(d, informer.Options{Wake: func(informer.Owner) {}})
	defer set.Close()
	o := informer.Owner{Controller: "test", NamespacedName: types.NamespacedName{Name: "owner"}}
	i := informer.Interest{Resource: kcpapi.Bindings, Stream: informer.StreamAllWorkspaces}
	set.Track(o, "test", i)
	var list []*unstructured.Unstructured
	kube.Eventually(t, "the first list", func() (bool, string) {
		list, err = set.List(t.Context(), o, i)
		return err == nil, fmt.Sprint(err)
	})
	clusters := map[string]string{}
	for _, u := range list {
		clusters[u.GetAnnotations()[kcpapi.AnnotationCluster]] = u.GetName()
	}
	if len(clusters) != many {
		t.Errorf("want the bindings of %d workspaces, got %v", many, clusters)
	}
}
