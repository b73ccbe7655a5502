// Package guide_test applies the PublishedResources that guides of api-syncagent have shown, as they are, and shows
// that they do what is said there, with the Certificates of cert-manager.
package guide_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	exportName = "services.example.com"
	namespace  = "my-app" // of the consumer
)

var (
	service    kube.Server
	workspaces kcp.Server
	root       = filepath.Join("..", "..", "..", "..")
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &service, &workspaces)) }

// A world is a service cluster with cert-manager's definitions, a workspace with an APIExport, and a consumer's
// workspace that has bound it.
type world struct {
	c, in   client.Client
	cluster string // of the consumer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	service.InstallCRDs(t, filepath.Join(root, "package", "crds"),
		filepath.Join(root, "internal", "projection", "testdata"))
	s := &world{c: service.Client(t, apis.AddToScheme)}
	path, admin := workspaces.Workspace(t)
	kube.Create(t, kcp.Client(t, admin), kcp.Export(exportName))
	ns := service.Namespace(t)
	account := kcp.ServiceAccount(t, admin, "agent", kcp.AgentRules(exportName)...)
	spec := build.FromSecret(ns, "kcp")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName}}
	kube.Create(t, s.c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, account)),
		build.ClusterConfig("default", spec))
	_, cfg := workspaces.Workspace(t)
	kcp.Bind(t, cfg, path, exportName, kcp.Claims("events", "namespaces", "secrets")...)
	s.in = kcp.Client(t, cfg)
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	kube.Create(t, s.in, created)
	s.cluster = created.Annotations["kcp.io/cluster"]
	provider.Start(t, service.User(t, "provider", "system:masters"))
	return s
}

// short is what the guides call a hash: the first 20 digits of SHA-1.
func short(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])[:20]
}

// certificate returns one with the labels that the guides filter by.
func certificate(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"secretName": "my-" + name, "dnsNames": []any{"example.com"},
		"issuerRef": map[string]any{"name": "any", "group": "cert-manager.io"},
	}}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetLabels(map[string]string{"foo": "bar"})
	return u
}

// A guide is what one of the files is to do.
type guide struct {
	reason string
	// apiVersion and kind are what consumers see, those of cert-manager if they are empty.
	apiVersion, kind string
	// copied is the namespace and name of the copy, and spec what its spec differs in. Without a name it has the default,
	// whose hashes are shown elsewhere.
	copied string
	spec   map[string]any
	// issued is a Secret that comes about beside the copy, and returned the name of its copy beside the object.
	issued, returned string
	labels           map[string]string
}

// Where copies are by the rules of the guides.
const (
	inOwn    = "CLUSTER/"
	inShared = "kube-system/CLUSTER-NAMESPACE-NAME"
)

var guides = map[string]guide{
	"simple": {reason: "The least there is to say copies all.", copied: inOwn},
	"filter": {reason: "An object in the namespace with the label passes.", copied: inOwn},
	"projection": {
		reason:     "Consumers have another kind and version.",
		apiVersion: "cert-manager.io/v1beta1",
		kind:       "Sertifikat",
		copied:     inOwn,
	},
	"naming": {reason: "Placeholders make names.", copied: "CLUSTER/cert-NAMESPACE-NAME"},
	"mutation": {
		reason: "Steps change the copy in order.", copied: inOwn,
		spec: map[string]any{"secretName": "kcp-my-mutation-copy", "issuerRef": map[string]any{"name": "any"}},
	},
	"reference": {
		reason: "The Secret that a field names comes back.", copied: inShared, issued: "my-reference",
		returned: "my-reference",
	},
	"older-reference": {
		reason: "So it does in the form of the first versions.", copied: inShared, issued: "my-older-reference",
		returned: "my-older-reference",
	},
	"selector-regex": {
		reason: "Selected Secrets come back with a name that a regular expression makes.", copied: inShared,
		issued: "foo-secret", returned: "bar-secret",
		labels: map[string]string{"my-key": "my-value", "another": "pair"},
	},
	// What follows has patterns that stand for something else, and only has to do no harm.
	"selector-template":         {reason: "The namespace is rewritten to none that is there.", copied: inShared},
	"reference-namespace":       {reason: "The namespace is rewritten to none that is there.", copied: inShared},
	"older-reference-namespace": {reason: "The namespace is rewritten to none that is there.", copied: inShared},
}

// TestGuide applies each file, and creates an object as a consumer does.
func TestGuide(t *testing.T) {
	folder := filepath.Join(root, "apis", "cluster", "publishedresource", "v1alpha1", "testdata", "guide")
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) != len(guides) {
		t.Fatalf("want %d files, got %d: %v", len(guides), len(files), err)
	}
	s := newWorld(t)
	for name, g := range guides {
		t.Run(name, func(t *testing.T) {
			t.Log(g.reason)
			content, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			defer s.apply(t, content)()
			s.follow(t, name, g)
		})
	}
}

// apply creates a PublishedResource as it is written, and returns what deletes it.
func (s *world) apply(t *testing.T, content []byte) (remove func()) {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(content, &u.Object); err != nil {
		t.Fatal(err)
	}
	kube.Create(t, s.c, u)
	kube.Eventually(t, "the API to be served", func() (bool, string) {
		o := &v1alpha1.PublishedResource{}
		if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(u), o); err != nil {
			return false, err.Error()
		}
		return o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue &&
			o.Status.Objects != nil, fmt.Sprintf("%+v", o.Status)
	})
	return func() { kube.Remove(t, s.c, u) }
}

// follow follows one object of a consumer through its life.
func (s *world) follow(t *testing.T, name string, g guide) {
	t.Helper()
	above := certificate("cert-manager.io/v1", "Certificate", name)
	if g.kind != "" {
		above = certificate(g.apiVersion, g.kind, name)
	}
	kube.Eventually(t, "creation", func() (bool, string) {
		err := s.in.Create(t.Context(), above.DeepCopy())
		return err == nil, fmt.Sprint(err)
	})
	copied := s.copyOf(t, name)
	want := strings.NewReplacer("CLUSTER", s.cluster, "NAMESPACE", short(namespace), "NAME", short(name)).Replace(g.copied)
	got := copied.GetNamespace() + "/" + copied.GetName()
	if got != want && !(strings.HasSuffix(want, "/") && strings.HasPrefix(got, want)) {
		t.Errorf("name of the copy: want %s, got %s", want, got)
	}
	spec := above.DeepCopy().Object["spec"].(map[string]any)
	maps.Copy(spec, g.spec)
	if diff := cmp.Diff(spec, copied.Object["spec"]); diff != "" {
		t.Errorf("spec of the copy: -want, +got:\n%s", diff)
	}
	kube.PatchStatus(t, s.c, copied, `{"status":{"revision":7}}`)
	kube.Await(t, s.in, above, "the status", func() (bool, string) {
		revision, _, _ := unstructured.NestedInt64(above.Object, "status", "revision")
		return revision == 7, fmt.Sprint(above.Object["status"])
	})
	if g.issued != "" {
		kube.Create(t, s.c, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: copied.GetNamespace(), Name: g.issued, Labels: g.labels,
				// As cert-manager does with --enable-certificate-owner-ref.
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(copied, copied.GroupVersionKind())},
			},
			Data: map[string][]byte{"key": []byte(name)},
		})
		returned := &corev1.Secret{}
		kube.Eventually(t, "the Secret to come back", func() (bool, string) {
			err := s.in.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: g.returned}, returned)
			return err == nil && string(returned.Data["key"]) == name, fmt.Sprint(err)
		})
	}
	kube.Remove(t, s.in, above)
	kube.AwaitGone(t, s.c, copied)
}

// copyOf waits for the copy of an object.
func (s *world) copyOf(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("cert-manager.io/v1")
	list.SetKind("CertificateList")
	kube.Eventually(t, "one copy", func() (bool, string) {
		err := s.c.List(t.Context(), list)
		is := err == nil && len(list.Items) == 1 &&
			list.Items[0].GetAnnotations()["syncagent.kcp.io/remote-object-name"] == name
		return is, fmt.Sprint(err, len(list.Items))
	})
	return &list.Items[0]
}
