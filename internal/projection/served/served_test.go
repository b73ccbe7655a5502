package served_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

func certificates(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "testdata", "certificates.cert-manager.io.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return definition(t, content)
}

// TestServed shows that consumers find what is projected, under the names it has been given, and can use it.
func TestServed(t *testing.T) {
	cases := map[string]struct {
		reason string
		crd    *apiextensionsv1.CustomResourceDefinition
		to     *publishedv1alpha1.ResourceProjection
		want   metav1.APIResource
		object string
	}{
		"Certificate": {
			reason: "A definition is published as it is.",
			crd:    certificates(t),
			want: metav1.APIResource{
				Name: "certificates", SingularName: "certificate", Namespaced: true, Kind: "Certificate",
				ShortNames: []string{"cert", "certs"}, Categories: []string{"cert-manager"},
			},
			object: "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a, namespace: default}, " +
				"spec: {secretName: a, dnsNames: [example.com], issuerRef: {name: ca}}}",
		},
		"Sertifikat": {
			reason: "A definition is published under another name.",
			crd:    certificates(t),
			to: &publishedv1alpha1.ResourceProjection{
				Group: "certs.example.com", Version: "v1beta1", Kind: "Sertifikat", Plural: "Sertifikater",
				ShortNames: []string{"serts"}, Categories: []string{"management"},
				Scope: publishedv1alpha1.ScopeCluster,
			},
			want: metav1.APIResource{
				Name: "sertifikater", SingularName: "sertifikat", Kind: "Sertifikat", ShortNames: []string{"serts"},
				Categories: []string{"management"},
			},
			object: "{apiVersion: certs.example.com/v1beta1, kind: Sertifikat, metadata: {name: a}, " +
				"spec: {secretName: a, issuerRef: {name: ca}}}",
		},
		"Deployment": {
			reason: "A built-in type is published from what its API server says of it.",
			crd:    builtIn(t, schema.GroupKind{Group: "apps", Kind: "Deployment"}, "v1"),
			want: metav1.APIResource{
				Name: "deployments", SingularName: "deployment", Namespaced: true, Kind: "Deployment",
				ShortNames: []string{"deploy"}, Categories: []string{"all"},
			},
			object: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}
  template:
    metadata: {labels: {a: b}, annotations: {c: d}}
    spec:
      containers:
      - name: web
        image: nginx
        ports: [{containerPort: 80, protocol: UDP}]
        resources: {limits: {cpu: 1, memory: 1Gi}}
        livenessProbe: {httpGet: {path: /, port: http}}
      volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]
`,
		},
		"Pod": {
			reason: "A type of the core group is published: the name of its schema ends in core, " +
				"where that of api-syncagent ends in a dot.",
			crd: builtIn(t, schema.GroupKind{Kind: "Pod"}, "v1"),
			want: metav1.APIResource{
				Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod", ShortNames: []string{"po"},
				Categories: []string{"all"},
			},
			object: "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, " +
				"spec: {containers: [{name: web, image: nginx}]}}",
		},
		"CustomResourceDefinition": {
			reason: "A type that contains itself, and values of any type, is published.",
			crd:    builtIn(t, schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, "v1"),
			to:     &publishedv1alpha1.ResourceProjection{Group: "definitions.example.com", Kind: "Definition"},
			want: metav1.APIResource{
				Name: "definitions", SingularName: "definition", Kind: "Definition",
				ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
			},
			object: `
apiVersion: definitions.example.com/v1
kind: Definition
metadata: {name: a}
spec:
  group: a.b
  scope: Cluster
  names: {plural: as, kind: A}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, ` +
				`properties: {a: {type: object, properties: {b: {type: string, default: c}}}}}}}]
`,
		},
	}
	projections := map[string]*projection.Projection{}
	for name, tc := range cases {
		projections[name] = project(t, tc.crd, tc.to)
	}
	c, d := publish(t, slices.Collect(maps.Values(projections))...)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := projections[name]
			if len(p.Repairs) > 0 {
				t.Errorf("%s\nrepairs: %q", tc.reason, p.Repairs)
			}
			got := served(t, d, p, p.Kind().Version)
			got.Verbs, got.StorageVersionHash = nil, ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			use(t, c, tc.object)
		})
	}
}

// use creates an object, and checks that it is kept as it is.
func use(t *testing.T, c client.Client, content string) *unstructured.Unstructured {
	t.Helper()
	want := parse(t, content)
	u := want.DeepCopy()
	kube.Eventually(t, "the object to be created", func() (bool, string) {
		err := c.Create(t.Context(), u, client.FieldValidation(metav1.FieldValidationStrict))
		return err == nil, fmt.Sprint(err)
	})
	kube.Get(t, c, client.ObjectKeyFromObject(u), u)
	got := u.DeepCopy()
	delete(got.Object, "metadata")
	delete(want.Object, "metadata")
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("-written, +read:\n%s", diff)
	}
	return u
}
