package publishedresource_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestLossesAreTold shows that the owner is told which fields of which version kcp loses, as it does not call the
// webhook that converts objects on the service cluster, and that a consumer who uses that version is warned.
func TestLossesAreTold(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	d := definition(s.group, "kilns", "glaze")
	former := definition(s.group, "kilns", "shelves").Spec.Versions[0]
	former.Name, former.Storage = "v1alpha1", false
	d.Spec.Versions = append(d.Spec.Versions, former)
	d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new("https://127.0.0.1:9/convert")},
		},
	}
	kube.Create(t, s.c, d)
	o := s.offer(t, s.published("kilns", "Kiln"))
	awaitMessage(t, s.c, o, is(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonPublished),
		"v1alpha1: spec.glaze, spec.shelves")
	consumer, warnings := s.consumer(t, exportName), &strings.Builder{}
	consumer.cfg.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{})
	kcp.CreateServed(t, consumer.cfg, s.object("Kiln", "new"))
	if warnings.Len() > 0 {
		t.Errorf("want no warning about the version that is stored, got %q", warnings)
	}
	s.version = "v1alpha1"
	kcp.CreateServed(t, consumer.cfg, s.object("Kiln", "old"))
	if !strings.Contains(warnings.String(), "version v1alpha1 loses spec.glaze, spec.shelves") {
		t.Errorf("want a warning that names the fields, got %q", warnings)
	}
}
