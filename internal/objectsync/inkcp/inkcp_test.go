// Package inkcp_test shows that objects of real workspaces are synced, through the endpoint of an APIExport and with
// nothing but what it gives a provider.
package inkcp_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/sides"
)

var (
	service    kube.Server
	workspaces kcp.Server
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &service, &workspaces)) }

const (
	apiSchema = `
apiVersion: apis.kcp.io/v1alpha1
kind: APIResourceSchema
metadata: {name: v1.things.ws.example.com}
spec:
  group: ws.example.com
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`
	apiExport = `
apiVersion: apis.kcp.io/v1alpha2
kind: APIExport
metadata: {name: things}
spec:
  resources:
  - {group: ws.example.com, name: things, schema: v1.things.ws.example.com, storage: {crd: {}}}
  permissionClaims:
  - {group: "", resource: secrets, verbs: ["*"]}
  - {group: "", resource: namespaces, verbs: ["*"]}
`
	apiBinding = `
apiVersion: apis.kcp.io/v1alpha2
kind: APIBinding
metadata: {name: things}
spec:
  reference: {export: {path: PATH, name: things}}
  permissionClaims:
  - {group: "", resource: secrets, verbs: ["*"], state: Accepted, selector: {matchAll: true}}
  - {group: "", resource: namespaces, verbs: ["*"], state: Accepted, selector: {matchAll: true}}
`
)

func newClient(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// apply creates what a YAML holds as soon as the server takes it.
func apply(t *testing.T, c client.Client, content string) {
	t.Helper()
	kube.Eventually(t, "the server to take a resource", func() (bool, string) {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(content), &u.Object); err != nil {
			t.Fatal(err)
		}
		err := client.IgnoreAlreadyExists(c.Create(t.Context(), u))
		return err == nil, text(err)
	})
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// consumer makes a workspace that binds the export, and returns a client of it, the name of its logical cluster and the
// endpoint's configuration for it.
func consumer(t *testing.T, provider client.Client, path string) (client.Client, string, *rest.Config) {
	t.Helper()
	_, cfg := workspaces.Workspace(t)
	c := newClient(t, cfg)
	apply(t, c, strings.ReplaceAll(apiBinding, "PATH", path))
	kube.Eventually(t, "the API in the workspace", func() (bool, string) {
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(schema.GroupVersionKind{Group: "ws.example.com", Version: "v1", Kind: "ThingList"})
		err := c.List(t.Context(), l)
		return err == nil, text(err)
	})
	ns := &corev1.Namespace{}
	kube.Get(t, c, types.NamespacedName{Name: "default"}, ns)
	cluster := ns.Annotations["kcp.io/cluster"]
	var url string
	kube.Eventually(t, "the endpoint", func() (bool, string) {
		slice := &unstructured.Unstructured{}
		slice.SetGroupVersionKind(schema.GroupVersionKind{
			Group: "apis.kcp.io", Version: "v1alpha1", Kind: "APIExportEndpointSlice",
		})
		err := provider.Get(t.Context(), types.NamespacedName{Name: "things"}, slice)
		endpoints, _, _ := unstructured.NestedSlice(slice.Object, "status", "endpoints")
		if err != nil || len(endpoints) == 0 {
			return false, text(err)
		}
		url, _, _ = unstructured.NestedString(endpoints[0].(map[string]any), "url")
		return true, ""
	})
	virtual := rest.CopyConfig(cfg)
	virtual.Host = url + "/clusters/" + cluster
	return c, cluster, virtual
}

// noHolders knows of none.
type noHolders struct{}

// Holdings returns none.
func (noHolders) Holdings(string, objectsync.Ref) []objectsync.Holding { return nil }

// HasOthers knows of no copies.
func (noHolders) HasOthers(string, string) (bool, error) { return false, nil }

// Drop has none to forget.
func (noHolders) Drop(objectsync.Holding) {}

func TestWorkspace(t *testing.T) {
	service.InstallCRDs(t, "../testdata/service")
	path, cfg := workspaces.Workspace(t)
	provider := newClient(t, cfg)
	apply(t, provider, apiSchema)
	apply(t, provider, apiExport)
	above, cluster, virtual := consumer(t, provider, path)
	below := service.Client(t)
	things := objectsync.Pair{
		Workspace: objectsync.Resource{GroupVersionResource: schema.GroupVersionResource{
			Group: "ws.example.com", Version: "v1", Resource: "things",
		}, Kind: "Thing", Scope: "Namespaced", Status: true},
		Service: objectsync.Resource{GroupVersionResource: schema.GroupVersionResource{
			Group: "example.org", Version: "v1", Resource: "things",
		}, Kind: "Thing", Scope: "Namespaced", Status: true},
	}
	secret := objectsync.Resource{GroupVersionResource: objectsync.Secrets, Kind: "Secret", Scope: "Namespaced"}
	byField := func(path string) *v1alpha1.RelatedResourceObject {
		return &v1alpha1.RelatedResourceObject{RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{
			Reference: &v1alpha1.FieldReference{Path: v1alpha1.MutationPath(path)},
		}}
	}
	s, err := objectsync.New(objectsync.Config{
		Agent: "agent", StateNamespace: service.Namespace(t), Primary: things,
		Related: map[string]objectsync.Pair{
			"tls": {Workspace: secret, Service: secret}, "key": {Workspace: secret, Service: secret},
		},
		Spec: &v1alpha1.PublishedResourceSpec{Related: []v1alpha1.RelatedResource{
			{
				Identifier: "tls", Origin: v1alpha1.OriginService, Kind: "Secret", Cleanup: true,
				Object: byField("spec.tls"),
			},
			{Identifier: "key", Origin: v1alpha1.OriginKCP, Kind: "Secret", Object: byField("spec.key")},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	in := objectsync.Input{
		Workspace: objectsync.Workspace{
			Side: sides.Of(t, virtual, virtual), Cluster: cluster, ShowsAll: sides.ShowsAll,
		},
		Service: sides.Of(t, service.Config(), service.Config()), Holders: noHolders{},
		Object: types.NamespacedName{Namespace: "default", Name: "web"},
	}
	sync := func() {
		t.Helper()
		for range 4 {
			if _, err := s.Sync(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
	}

	web := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"tls": "cert", "key": "key", "size": int64(3),
	}}}
	web.SetGroupVersionKind(things.Workspace.GroupVersion().WithKind("Thing"))
	web.SetNamespace("default")
	web.SetName("web")
	key := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "key"},
		Data:       map[string][]byte{"k": []byte("from above")},
	}
	kube.Create(t, above, web, key)
	kube.Eventually(t, "the endpoint to show the objects", func() (bool, string) {
		u, err := in.Workspace.Cache(things.Workspace.GroupVersionResource).Get(in.Object)
		k, errKey := in.Workspace.Cache(objectsync.Secrets).Get(types.NamespacedName{Namespace: "default", Name: "key"})
		return u != nil && k != nil, text(err) + text(errKey)
	})
	sync()
	copies, err := in.Service.Cache(things.Service.GroupVersionResource).Select("",
		labels.SelectorFromSet(labels.Set{objectsync.LabelCluster: cluster}))
	if err != nil || len(copies) != 1 {
		t.Fatalf("want one copy, got %d, %v", len(copies), err)
	}
	want := []string{
		objectsync.AnnotationPublication, objectsync.AnnotationKind, objectsync.AnnotationName,
		objectsync.AnnotationNamespace,
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(copies[0].GetAnnotations()))); diff != "" {
		t.Errorf("annotations of the copy: -want, +got:\n%s", diff)
	}
	down := &corev1.Secret{}
	err = below.Get(t.Context(), types.NamespacedName{Namespace: cluster, Name: "key"}, down)
	if err != nil || string(down.Data["k"]) != "from above" || down.Labels[objectsync.LabelRelatedCluster] != cluster ||
		len(down.Labels)+len(down.Annotations) != 2 {
		t.Errorf("Secret below: %v %v %v", err, down.Labels, down.Annotations)
	}
	cert := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "cert"},
		Data:       map[string][]byte{"k": []byte("from below")},
	}
	kube.Create(t, below, cert)
	kube.PatchStatus(t, below, copies[0], `{"status":{"phase":"Ready"}}`)
	sync()
	up := &corev1.Secret{}
	if err := above.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "cert"}, up); err != nil ||
		string(up.Data["k"]) != "from below" {
		t.Errorf("Secret above: %v", err)
	}
	kube.Get(t, above, in.Object, web)
	if phase, _, _ := unstructured.NestedString(web.Object, "status", "phase"); phase != "Ready" ||
		!slices.Equal(web.GetFinalizers(), []string{objectsync.Finalizer}) {
		t.Errorf("the object above: phase %q, finalizers %v", phase, web.GetFinalizers())
	}
	before := web.GetResourceVersion()
	sync()
	if err := above.Get(t.Context(), in.Object, web); err != nil || web.GetResourceVersion() != before {
		t.Errorf("at rest the object is written: %v", err)
	}

	kube.Delete(t, above, web)
	sync()
	for what, err := range map[string]error{
		"the object":       above.Get(t.Context(), in.Object, web),
		"the copy":         below.Get(t.Context(), client.ObjectKeyFromObject(copies[0]), copies[0]),
		"the Secret above": above.Get(t.Context(), client.ObjectKeyFromObject(up), up),
		"the Secret below": below.Get(t.Context(), client.ObjectKeyFromObject(down), down),
	} {
		if err == nil || client.IgnoreNotFound(err) != nil {
			t.Errorf("%s is left: %v", what, err)
		}
	}
	if err := above.Get(t.Context(), client.ObjectKeyFromObject(key), key); err != nil || len(key.Finalizers) != 0 {
		t.Errorf("the consumer's Secret is held: %v %v", key.Finalizers, err)
	}
}
