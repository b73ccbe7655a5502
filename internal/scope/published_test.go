package scope

import (
	"testing"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestPublisherConfigOf shows which ClusterProviderConfig a PublishedResource uses, and that its key is the one by
// which the ClusterProviderConfig wakes its users.
func TestPublisherConfigOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		option string
		ref    *v1alpha1.ConfigReference
		want   string
	}{
		"None":   {reason: "There is one default.", want: "default"},
		"Option": {reason: "An option names another default.", option: "services", want: "services"},
		"Spec": {
			reason: "The spec counts first.", option: "services", ref: &v1alpha1.ConfigReference{Name: "north"}, want: "north",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := PublishedResources(nil, tc.option)
			mg := &v1alpha1.PublishedResource{Spec: v1alpha1.PublishedResourceSpec{ProviderConfigReference: tc.ref}}
			if got := p.Ref(mg); got != tc.want {
				t.Errorf("%s\nwant %s, got %s", tc.reason, tc.want, got)
			}
			pc := PublisherConfig().New()
			pc.SetName(tc.want)
			if got, want := p.Key(tc.want), PublisherConfig().Key(pc); got != want {
				t.Errorf("key: want %s, got %s", want, got)
			}
		})
	}
}
