package projection

import (
	"crypto/sha1"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// encoded is what api-syncagent hashes of the CustomResourceDefinition of widgets with version v1: its spec in JSON
// without its conversion, and a line break.
const encoded = `{"group":"example.com","names":{"plural":"widgets","singular":"widget","shortNames":["wd"],` +
	`"kind":"Widget","listKind":"WidgetList","categories":["all"]},"scope":"Namespaced",` +
	`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":` +
	`{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}` + "\n"

func TestSchema(t *testing.T) {
	sum := sha1.Sum([]byte(encoded))
	name := "v" + hex.EncodeToString(sum[:])[:8] + ".widgets.example.com"
	if name != "v215b0b10.widgets.example.com" {
		t.Errorf("the name is API and cannot change, got %s", name)
	}
	crd := widgets(t, "v1", "v1")
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
	crd.Spec.Versions[0].Subresources = nil
	p := mustProject(t, crd, nil)
	got, err := p.Schema("agent")
	if err != nil {
		t.Fatal(err)
	}
	want := &apisv1alpha1.APIResourceSchema{
		TypeMeta: metav1.TypeMeta{APIVersion: "apis.kcp.io/v1alpha1", Kind: "APIResourceSchema"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{"syncagent.kcp.io/agent-name": "agent"},
			Annotations: map[string]string{
				"syncagent.kcp.io/agent-name": "agent", "syncagent.kcp.io/source-generation": "7",
				"syncagent.kcp.io/source-hash": "215b0b10",
			},
		},
		Spec: apisv1alpha1.APIResourceSchemaSpec{
			Group: "example.com",
			Names: crd.Spec.Names,
			Scope: "Namespaced",
			Versions: []apisv1alpha1.APIResourceVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: runtime.RawExtension{Raw: []byte(`{"type":"object","properties":{"spec":{"type":"object",` +
					`"properties":{"size":{"type":"integer"}}}}}`)},
			}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(schema.GroupResource{Group: "example.com", Resource: "widgets"}, p.Resource()); diff != "" {
		t.Errorf("resource: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
		p.Kind()); diff != "" {
		t.Errorf("kind: -want, +got:\n%s", diff)
	}
}

func TestSchemaParticulars(t *testing.T) {
	project := func(crd *apiextensionsv1.CustomResourceDefinition,
		to *publishedv1alpha1.ResourceProjection,
	) *apisv1alpha1.APIResourceSchema {
		p := mustProject(t, crd, to)
		s, err := p.Schema("agent")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	in := func(group string) *apiextensionsv1.CustomResourceDefinition {
		crd := widgets(t, "v1", "v1")
		crd.Spec.Group = group
		return crd
	}
	approved := in("x.k8s.io")
	approved.Annotations = map[string]string{"api-approved.kubernetes.io": "https://example.com/1"}
	for name, tc := range map[string]struct {
		reason    string
		got, want any
	}{
		"Conversion": {
			reason: "Several versions need a conversion, and kcp has none that does anything.",
			got:    project(widgets(t, "v1", "v1", "v2"), nil).Spec.Conversion,
			want:   &apisv1alpha1.CustomResourceConversion{Strategy: "None"},
		},
		"CoreGroup": {
			reason: "The name for the core group ends in core, where that of api-syncagent ends in a dot.",
			got:    project(in(""), nil).GetName()[len("v12345678"):], want: ".widgets.core",
		},
		"Approved": {
			reason: "An approval goes along.",
			got:    project(approved, nil).GetAnnotations()["api-approved.kubernetes.io"],
			want:   "https://example.com/1",
		},
		"Unapproved": {
			reason: "A protected group without approval says so.",
			got:    project(in("x.k8s.io"), nil).GetAnnotations()["api-approved.kubernetes.io"],
			want:   "unapproved, published from another cluster",
		},
		"Unprotected": {
			reason: "Other groups need no approval.",
			got: project(approved, &publishedv1alpha1.ResourceProjection{Group: "a.b"}).
				GetAnnotations()["api-approved.kubernetes.io"],
			want: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestGolden shows that names stay what they are when libraries change: a new name makes a new schema for each
// consumer.
func TestGolden(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		spec   *publishedv1alpha1.PublishedResourceSpec
		want   string
	}{
		"Certificate": {
			reason: "A real definition as it is.",
			spec:   specOf(publishedv1alpha1.SourceResource{}, nil),
			want:   "v2230beeb.certificates.cert-manager.io",
		},
		"Sertifikat": {
			reason: "A real definition under other names.",
			spec: specOf(publishedv1alpha1.SourceResource{Version: "v1"}, &publishedv1alpha1.ResourceProjection{
				Version: "v1beta1", Kind: "Sertifikat", Plural: "Sertifikater", ShortNames: []string{"serts"},
			}),
			want: "vbe384cc7.sertifikater.cert-manager.io",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Project(certificates(t), tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.SchemaName()
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s\n%v\n-want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}
