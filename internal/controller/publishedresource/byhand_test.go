package publishedresource_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// The APIExport of the examples, and the label of the Secrets that it claims.
const (
	byHand      = "services.example.com"
	sharedLabel = "services.example.com/shared"
)

// TestExportByHand creates an APIExport and binds it by examples/publish/export.yaml and binding-by-label.yaml: the
// identity is that of the Secret, what was claimed before the publication remains as it is, and of the Secrets of the
// consumer those with the label are synced, in both directions. One without it is as if it was not there, until it has
// the label.
func TestExportByHand(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	files := example(t, "export.yaml")
	if os.Getenv("PROVIDER_KCP_TEST_VERSION") == "kcp-0.31" {
		dropDefaultSelectors(t, files[1])
	}
	key, _, _ := unstructured.NestedString(files[0].Object, "stringData", "key")
	s.create(t, files[0], files[1])
	s.connect(t, s.agent(t, byHand))
	setConfig(t, s.c, s.config, s.config, &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: byHand}})
	before := s.awaitIdentity(t, key)
	o := s.publishCerts(t)
	s.wantKept(t, before)

	in, binding := newTenant(t), example(t, "binding-by-label.yaml")[0]
	if err := unstructured.SetNestedField(binding.Object, s.path, "spec", "reference", "export", "path"); err != nil {
		t.Fatal(err)
	}
	kube.Create(t, in, binding)
	kcp.AwaitBound(t, in.cfg, &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: binding.GetName()}})
	shared := secretIn(metav1.NamespaceDefault, "shared", "mine")
	hidden := secretIn(metav1.NamespaceDefault, "hidden", "also")
	shared.Labels = map[string]string{sharedLabel: "true"}
	kube.Create(t, in, shared, hidden)
	kcp.CreateServed(t, in.cfg, s.naming("web", shared.Name))
	copied := s.copyOf(t, in)
	s.issue(t, copied, "issued")
	awaitValue(t, s.c, copied.GetNamespace(), shared.Name, "mine")
	awaitValue(t, in, metav1.NamespaceDefault, "web-tls", "issued")
	returned := secretIn(metav1.NamespaceDefault, "web-tls", "")
	kube.Get(t, in, client.ObjectKeyFromObject(returned), returned)
	if returned.Labels[sharedLabel] != "true" {
		t.Errorf("want the label on the Secret that the provider has made, got %v", returned.Labels)
	}

	kube.Create(t, in, s.naming("other", hidden.Name))
	s.copyNamed(t, in, "other")
	awaitCounts(t, s.c, o, 2, 0)
	was := &corev1.Secret{}
	kube.Get(t, in, client.ObjectKeyFromObject(hidden), was)
	if was.ResourceVersion != hidden.ResourceVersion {
		t.Errorf("the Secret without the label was changed: %v", was.ObjectMeta)
	}
	err := s.c.Get(t.Context(), client.ObjectKey{Namespace: copied.GetNamespace(), Name: hidden.Name}, was)
	if !apierrors.IsNotFound(err) {
		t.Errorf("copy of the Secret without the label: want none, got %v", err)
	}
	kube.Patch(t, in, hidden, `{"metadata":{"labels":{"`+sharedLabel+`":"true"}}}`)
	awaitValue(t, s.c, copied.GetNamespace(), hidden.Name, "also")
}

// dropDefaultSelectors makes an APIExport one that kcp 0.31 understands: it hides all objects of a claim that has a
// defaultSelector (https://github.com/kcp-dev/kcp/issues/4198).
func dropDefaultSelectors(t *testing.T, export *unstructured.Unstructured) {
	t.Helper()
	claims, _, _ := unstructured.NestedSlice(export.Object, "spec", "permissionClaims")
	for _, c := range claims {
		if claim, ok := c.(map[string]any); ok {
			delete(claim, "defaultSelector")
		}
	}
	if err := unstructured.SetNestedSlice(export.Object, claims, "spec", "permissionClaims"); err != nil {
		t.Fatal(err)
	}
}

// awaitIdentity waits until the APIExport of the example has its identity, fails unless that is of a key, and returns
// the APIExport.
func (s *shop) awaitIdentity(t *testing.T, key string) *apisv1alpha2.APIExport {
	t.Helper()
	sum := sha256.Sum256([]byte(key))
	e := &apisv1alpha2.APIExport{ObjectMeta: metav1.ObjectMeta{Name: byHand}}
	kube.Await(t, kcp.Client(t, s.admin), e, "the identity of the Secret", func() (bool, string) {
		return e.Status.IdentityHash == hex.EncodeToString(sum[:]), e.Status.IdentityHash
	})
	return e
}

// wantKept fails unless an APIExport still has its identity and what it claimed, with what the publication needs.
func (s *shop) wantKept(t *testing.T, before *apisv1alpha2.APIExport) {
	t.Helper()
	e := &apisv1alpha2.APIExport{}
	kube.Get(t, kcp.Client(t, s.admin), client.ObjectKeyFromObject(before), e)
	var claimed []string
	for _, c := range e.Spec.PermissionClaims {
		claimed = append(claimed, c.Resource)
		if c.Resource != "secrets" {
			continue
		}
		if diff := cmp.Diff(before.Spec.PermissionClaims, []apisv1alpha2.PermissionClaim{c}); diff != "" {
			t.Errorf("claim to Secrets: -before, +after:\n%s", diff)
		}
	}
	slices.Sort(claimed)
	if got := strings.Join(claimed, " "); got != "events namespaces secrets" || schemaOf(e, "certs") == "" {
		t.Errorf("want the claims of the example and those needed, and the schema, got %s and %v", got, e.Spec.Resources)
	}
	if e.Status.IdentityHash != before.Status.IdentityHash || !cmp.Equal(e.Spec.Identity, before.Spec.Identity) {
		t.Errorf("identity: want %s of %v, got %s of %v", before.Status.IdentityHash, before.Spec.Identity,
			e.Status.IdentityHash, e.Spec.Identity)
	}
}

// example reads the resources of a file of examples/publish.
func example(t *testing.T, name string) (all []*unstructured.Unstructured) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "publish", name))
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), len(b)); ; {
		u := &unstructured.Unstructured{}
		switch err := d.Decode(&u.Object); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, u)
	}
}
