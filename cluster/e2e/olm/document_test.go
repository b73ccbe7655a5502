package olm

import (
	"path/filepath"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// The files of testdata/document are those of the design document of policies and references, to the letter.

// TestDocumentReferences shows that the chain applies the Object of the document which refers to a Subscription.
func TestDocumentReferences(t *testing.T) {
	document, err := read(filepath.Join("testdata", "document", "references.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	applied, err := read(chains["Cluster"].file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document[0].Object, applied[1].Object); diff != "" {
		t.Errorf("Object for the ClusterServiceVersion: -document, +chain:\n%s", diff)
	}
}

// TestDocumentNamespace applies the Object whose manifest takes its name from the Object.
func TestDocumentNamespace(t *testing.T) {
	b := newDocument(t, "namespace.yaml")
	b.create(t)
	b.awaitReady(t)
	ns := &corev1.Namespace{}
	if err := b.tc.Get(t.Context(), client.ObjectKey{Name: "sample-namespace"}, ns); err != nil {
		t.Fatal(err)
	}
	if ns.GetLabels()["example"] != "true" {
		t.Errorf("labels of the Namespace: want example=true, got %v", ns.GetLabels())
	}
	b.delete(t)
	b.awaitNothing(t)
}

// TestDocumentPolicy applies the Object that only observes and deletes, with the Object's own name for that of the
// resource: it is not created, it is seen once OLM's users make it, and it goes with the Object.
func TestDocumentPolicy(t *testing.T) {
	b := newDocument(t, "policy.yaml")
	b.create(t)
	kube.Eventually(t, "the Object to miss its resource", func() (bool, string) {
		status, message := b.condition(t, b.objects[0], xpv2.TypeReady)
		return status == string(corev1.ConditionFalse), message
	})
	csv := operated("ClusterServiceVersion", "csv-kong")
	if err := b.tc.Get(t.Context(), client.ObjectKeyFromObject(csv), csv.DeepCopy()); !apierrors.IsNotFound(err) {
		t.Fatalf("a resource that is only observed must not be created: %v", err)
	}
	if err := b.tc.Create(t.Context(), operatorOf(t, "other", "csv-kong")); err != nil {
		t.Fatal(err)
	}
	b.awaitReady(t)
	b.delete(t)
	b.awaitNothing(t)
}

// operatorOf returns the ClusterServiceVersion of a bundle by another name.
func operatorOf(t *testing.T, bundle, name string) *unstructured.Unstructured {
	t.Helper()
	objects, err := read(filepath.Join("testdata", "bundles", bundle, "clusterserviceversion.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects[0].SetNamespace(operatorsNamespace)
	objects[0].SetName(name)
	return objects[0]
}

// TestDocumentPatches follows the references of the document to resources that are no Objects: a managed resource of
// another provider, and a ConfigMap.
func TestDocumentPatches(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		source *unstructured.Unstructured
		want   []string // the field of the resource on the target
	}{
		"patch-from-managed-resource.yaml": {
			reason: "A field of a cluster-scoped resource is read, whatever the scope of the Object.",
			source: &unstructured.Unstructured{Object: build.Manifest{
				"apiVersion": "ec2.aws.crossplane.io/v1alpha1", "kind": "VPC",
				"metadata": map[string]any{"name": "main-vpc"},
				"spec":     map[string]any{"forProvider": map[string]any{"cidrBlock": "10.0.0.0/16"}},
			}},
			want: []string{"10.0.0.0/16", "spec", "cidrBlock"},
		},
		"patch-from-configmap.yaml": {
			reason: "So is that of a namespaced one.",
			source: &unstructured.Unstructured{Object: build.ConfigMap("crossplane-system", "common-settings", "region",
				"us-east-1")},
			want: []string{"us-east-1", "spec", "forProvider", "region"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newDocument(t, name)
			control.InstallCRDs(t, filepath.Join("testdata", "crds", "vpcs.yaml"))
			target.InstallCRDs(t, filepath.Join("testdata", "crds", "subnets.yaml"))
			b.takeInventories(t)
			patches, _, _ := unstructured.NestedSlice(b.objects[0].Object, "spec", "patches")
			b.objects = []*unstructured.Unstructured{subnet(patches)}
			b.create(t)
			source := tc.source.DeepCopy()
			if err := b.c.Create(t.Context(), source); err != nil {
				t.Fatal(err)
			}
			b.awaitReady(t)
			live := &unstructured.Unstructured{}
			live.SetAPIVersion("example.org/v1")
			live.SetKind("Subnet")
			if err := b.tc.Get(t.Context(), client.ObjectKey{Name: "main"}, live); err != nil {
				t.Fatal(err)
			}
			if got, _, _ := unstructured.NestedString(live.Object, tc.want[1:]...); got != tc.want[0] {
				t.Errorf("%s\n%v of the Subnet: want %q, got %q", tc.reason, tc.want[1:], tc.want[0], got)
			}
			b.delete(t)
			if err := b.c.Delete(t.Context(), source); err != nil {
				t.Fatal(err)
			}
			b.awaitNothing(t)
		})
	}
}

// subnet returns an Object for a Subnet with references.
func subnet(references []any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubernetes.crossplane.io/v1alpha1",
		"kind":       "Object",
		"metadata":   map[string]any{"name": "subnet"},
		"spec": map[string]any{
			"references": references,
			"forProvider": map[string]any{"manifest": map[string]any{
				"apiVersion": "example.org/v1", "kind": "Subnet", "metadata": map[string]any{"name": "main"},
			}},
		},
	}}
}

// newDocument returns a bed for a file of the document, with a provider.
func newDocument(t *testing.T, file string) *bed {
	t.Helper()
	c, tc := clients(t)
	connect(t, c)
	named := build.Cluster().Config("", "kubernetes-provider", build.FromSecret("crossplane-system", "target"))
	if err := c.Create(t.Context(), named); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	start(t)
	b := newBed(t, c, tc, chain{file: filepath.Join("testdata", "document", file)})
	b.history = newHistory(t)
	return b
}
