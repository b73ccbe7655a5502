package object_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// version returns a version of a CustomResourceDefinition, as JSON.
func version(name string, storage bool) string {
	return fmt.Sprintf(`{"name":%q,"storage":%t,"served":true,"schema":{"openAPIV3Schema":{"type":"object"}}}`,
		name, storage)
}

// definition returns the manifest of a CustomResourceDefinition in a group of its own, with versions and more fields.
func (w world) definition(t *testing.T, versions, more string) build.Manifest {
	t.Helper()
	group := w.target + ".example.org"
	m := parse(t, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"`+group+`",
		"scope":"Namespaced","names":{"plural":"gates","kind":"Gate"},"versions":[`+versions+`]`+more+`}}`)
	m.SetName("gates." + group)
	return build.Manifest(m.Object)
}

// TestConversionLeaves shows that a CustomResourceDefinition loses its conversion webhook with its manifest, although
// somebody else has put a certificate authority into it, and that the definition stays the same.
func TestConversionLeaves(t *testing.T) {
	c := provide(t)
	for name, none := range map[string]string{"Absent": "", "None": `,"conversion":{"strategy":"None"}`} {
		t.Run(name, func(t *testing.T) {
			w := newWorldAs(t, c, build.Namespaced(), "system:masters")
			manifest := func(conversion string) build.Manifest { return w.definition(t, version("v1", true), conversion) }
			const webhook = `,"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],
				"clientConfig":{"service":{"namespace":"default","name":"convert"}}}}`
			o := w.keep(t, manifest(webhook))
			w.byHand(t, manifest(webhook), "cainjector", operation(`add /spec/conversion/webhook/clientConfig/caBundle "`+
				base64.StdEncoding.EncodeToString(target.Config().CAData)+`"`))
			d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: build.Meta("", "gates."+w.target+".example.org")}
			kube.Await(t, w.tc, d, "the certificate authority", func() (bool, string) {
				return len(d.Spec.Conversion.Webhook.ClientConfig.CABundle) > 0, ""
			})
			awaitReady(t, c, o)
			was := d.GetUID()
			setManifest(t, c, o, manifest(none))
			kube.Await(t, w.tc, d, "no conversion webhook", func() (bool, string) {
				return d.Spec.Conversion.Strategy == apiextensionsv1.NoneConverter && d.Spec.Conversion.Webhook == nil,
					fmt.Sprint(d.Spec.Conversion)
			})
			awaitReady(t, c, o)
			if d.GetUID() != was {
				t.Error("the definition was made again")
			}
			kube.Remove(t, c, o)
		})
	}
}

// TestStoredVersionLeaves shows that who takes a version in which resources may be stored from a definition is told to
// store them anew, and not to delete the definition, which deletes them; and that the manifest is applied after that.
func TestStoredVersionLeaves(t *testing.T) {
	c := provide(t)
	w := newWorldAs(t, c, build.Namespaced(), "system:masters")
	o := w.keep(t, w.definition(t, version("v1alpha1", true), ""))
	setManifest(t, c, o, w.definition(t, version("v1alpha1", false)+","+version("v1", true), ""))
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: build.Meta("", "gates."+w.target+".example.org")}
	kube.Await(t, w.tc, d, "two stored versions", func() (bool, string) {
		return len(d.Status.StoredVersions) == 2, fmt.Sprint(d.Status.StoredVersions)
	})
	setManifest(t, c, o, w.definition(t, version("v1", true), ""))
	told := awaitCondition(t, c, o, failed(commonv1.ReasonInvalidManifest), "status.storedVersions")
	if strings.Contains(told, "delete the") || !strings.Contains(told, "write each of its resources once") {
		t.Errorf("want no advice to delete the definition, got %s", told)
	}
	kube.PatchStatus(t, w.tc, d, `{"status":{"storedVersions":["v1"]}}`)
	awaitReady(t, c, o)
	kube.Remove(t, c, o)
}
