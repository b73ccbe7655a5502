package scope

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

func TestPublisherConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		option string
		kind   string
		want   string
	}{
		"None":    {"There is one default.", "", "ProviderConfig", "default"},
		"Name":    {"A kind is not needed.", "services", "ProviderConfig", "services"},
		"AndKind": {"It can be given.", "ClusterProviderConfig/services", "ClusterProviderConfig", "services"},
	} {
		t.Run(name, func(t *testing.T) {
			want := v1alpha1.ConfigReference{Kind: tc.kind, Name: tc.want}
			if diff := cmp.Diff(want, PublisherConfig(tc.option)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPublisherKey shows that the keys of references are those of the ProviderConfigs they name, and that kinds which
// are not served have none.
func TestPublisherKey(t *testing.T) {
	p := PublishedResources(nil, "")
	for _, c := range PublisherConfigs() {
		pc := c.New()
		pc.SetName("services")
		ref := v1alpha1.ConfigReference{Kind: c.Kinds.Config.Kind, Name: "services"}
		if diff := cmp.Diff(c.Key(pc), p.Key(ref)); diff != "" {
			t.Errorf("key of %s: -want, +got:\n%s", ref.Kind, diff)
		}
		if _, err := p.Config(t.Context(), ref); !errors.Is(err, ErrNoConfig) {
			t.Errorf("%s is not served: want ErrNoConfig, got %v", ref.Kind, err)
		}
	}
}
