package publishedresource_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestUnavailableGroup shows that a group of the service cluster whose server does not answer keeps no other API from
// being published, be it defined or built in.
func TestUnavailableGroup(t *testing.T) {
	s := openShop(t)
	dead := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "dead." + s.group, "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
		"insecureSkipTLSVerify": true,
		"service":               map[string]any{"namespace": "default", "name": "dead"},
	}}}
	dead.SetAPIVersion("apiregistration.k8s.io/v1")
	dead.SetKind("APIService")
	dead.SetName("v1.dead." + s.group)
	kube.Create(t, s.c, dead)
	defer func() {
		if err := client.IgnoreNotFound(s.c.Delete(t.Context(), dead)); err != nil {
			t.Error(err)
		}
	}()
	d, err := discovery.NewDiscoveryClientForConfig(local.Config())
	if err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "discovery to fail in part", func() (bool, string) {
		_, _, err := d.ServerGroupsAndResources()
		return discovery.IsGroupDiscoveryFailedError(err), fmt.Sprint(err)
	})
	s.publishHats(t)
	o := s.published("sets", "StatefulSet")
	o.Spec.Resource.APIGroup = "apps"
	o.Spec.Projection = &v1alpha1.ResourceProjection{Group: s.group, Kind: "Keeper"}
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
}
