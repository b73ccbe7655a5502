// Package outage_test shows that one provider serves several kcps from several service clusters, and what happens when
// one kcp is really gone for a while: its PublishedResources say so and go on when it is back, and those of the other
// kcp notice nothing.
package outage_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	elsewhere = "elsewhere" // the ProviderConfig of the other service cluster
	admins    = "system:masters"
)

var (
	local, other kube.Server
	north, south kcp.Server
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &other, &north, &south)) }

// TestOutage takes one kcp away and brings it back, then the other. One ends and refuses connections, one does not
// answer any more.
func TestOutage(t *testing.T) {
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	provider.Start(t, local.User(t, "provider", admins))
	c := local.Client(t, apis.AddToScheme)
	connect(t, c, elsewhere, kube.Kubeconfig(t, other.User(t, "provider", admins)), nil)
	group := local.Namespace(t) + ".example.com"
	kube.Create(t, c, build.Definition(group, "hats"))
	kube.Create(t, other.Client(t), build.Definition(group, "coats"))
	worlds := map[*kcp.Server]*world{&north: open(t, c, &north, group), &south: open(t, c, &south, group)}
	if n, s := worlds[&north].schemas(t), worlds[&south].schemas(t); !cmp.Equal(n, s) || n["hats"] == "" ||
		n["coats"] == "" {
		t.Errorf("want the same offered by both, got %v and %v", n, s)
	}
	for name, tc := range map[string]struct {
		reason      string
		gone, there *kcp.Server
		begin       func(*kcp.Server, testing.TB)
	}{
		"Ended": {
			reason: "A kcp that has ended refuses connections.",
			gone:   &north,
			there:  &south,
			begin:  (*kcp.Server).Stop,
		},
		"Frozen": {
			reason: "A kcp that hangs takes requests and answers none.",
			gone:   &south,
			there:  &north,
			begin:  (*kcp.Server).Freeze,
		},
	} {
		t.Run(name, func(t *testing.T) {
			gone, there := worlds[tc.gone], worlds[tc.there]
			was, thereWas, calm := gone.schemas(t), there.schemas(t), there.since(t)
			late := gone.published(group, "caps")
			if name == "Frozen" {
				late = gone.published(group, "gowns")
			}
			tc.begin(tc.gone, t)
			field := "of" + late.Spec.Resource.Kind
			addField(t, c, "hats."+group, field)
			addField(t, other.Client(t), "coats."+group, field)
			plural := late.GetName()[len(gone.config)+1:]
			kube.Create(t, c, build.Definition(group, plural), late)

			there.awaitOther(t, thereWas)
			for _, o := range append(gone.resources(), late) {
				gone.awaitUnreachable(t, o)
			}
			tc.gone.Return(t)
			gone.awaitOther(t, was)
			for _, o := range append(gone.resources(), late) {
				gone.awaitServed(t, o)
			}
			if e := gone.read(t); e.GetUID() != gone.export || gone.schemas(t)["boats"] != stranger ||
				gone.schemas(t)[plural] == "" {
				t.Errorf("%s\nwant the same APIExport with what a stranger has in it, and %s, got %s with %v",
					tc.reason, plural, e.GetUID(), e.Spec.Resources)
			}
			if diff := cmp.Diff(calm, there.since(t)); diff != "" {
				t.Errorf("%s\nthe other kcp must not be concerned: conditions -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}

// addField adds a field to the spec of a kind.
func addField(t *testing.T, c client.Client, name, field string) {
	t.Helper()
	kube.Eventually(t, "change of "+name, func() (bool, string) {
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(t.Context(), types.NamespacedName{Name: name}, d); err != nil {
			return false, err.Error()
		}
		spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		spec.Properties[field] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		if err := c.Update(t.Context(), d); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}
