package application_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestOneCluster shows that all of an application is on one of the clusters it might be on, and that what is there
// names the KubernetesApplicationResource that has made it.
func TestOneCluster(t *testing.T) {
	w := unconnected(t)
	for _, name := range []string{"one", "two", "three"} {
		w.connect(t, name, good(t))
	}
	names := []string{"a", "b", "c", "d", "e", "f"}
	app := w.application("web")
	for _, name := range names {
		app.Spec.ResourceTemplates = append(app.Spec.ResourceTemplates, w.settings(name))
	}
	w.submit(t, app)
	for _, name := range names {
		r := w.resource(t, name)
		if r.Spec.ClusterRef == nil || *r.Spec.ClusterRef != *app.Spec.ClusterRef {
			t.Errorf("%s: want cluster %v, got %v", name, app.Spec.ClusterRef, r.Spec.ClusterRef)
		}
		got := w.configMap(t, name).GetAnnotations()[workloadv1alpha1.AnnotationKeyResourceUID]
		if got != string(r.GetUID()) {
			t.Errorf("%s: want UID %s in the annotation, got %q", name, r.GetUID(), got)
		}
	}
}

// TestOpaqueStatus shows that a status is copied whatever it is, of a kind that only the cluster knows, and goes when
// it does.
func TestOpaqueStatus(t *testing.T) {
	w := newWorld(t)
	group := strings.ReplaceAll(w.tns, "-", "") + ".example.org"
	d := build.Definition(group, "hats")
	open := true
	d.Spec.Versions[0].Subresources = nil
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties = nil
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.XPreserveUnknownFields = &open
	kube.Create(t, w.tc, d)
	hat := build.Manifest{
		"apiVersion": group + "/v1", "kind": "Hat", "metadata": map[string]any{"name": "top", "namespace": w.tns},
	}
	app := w.application("web", build.ResourceTemplate("top", hat))
	w.submit(t, app)
	for name, status := range map[string]string{
		"Text":   `"done"`,
		"List":   `["a",1,null]`,
		"Number": `9007199254740993`,
		"Nested": `{"a":{"b":[{"c":0.5}]},"d":true,"e":{}}`,
		"Empty":  `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			w.setStatus(t, group, status)
			kube.Eventually(t, "remote status "+status, func() (bool, string) {
				got := w.resource(t, "top").Status.Remote
				return got != nil && string(got.Raw) == status, remoteOf(w.resource(t, "top"))
			})
		})
	}
	w.setStatus(t, group, "null")
	kube.Eventually(t, "no remote status", func() (bool, string) {
		return w.resource(t, "top").Status.Remote == nil, remoteOf(w.resource(t, "top"))
	})
}

// remoteOf returns the remote status of a KubernetesApplicationResource as text.
func remoteOf(r *resource) string {
	raw, err := json.Marshal(r.Status.Remote)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// setStatus gives Hat top on the target a status, or takes it away if that is null.
func (w world) setStatus(t *testing.T, group, status string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(group + "/v1")
	u.SetKind("Hat")
	u.SetNamespace(w.tns)
	u.SetName("top")
	if err := w.tc.Patch(t.Context(), u,
		client.RawPatch(types.JSONPatchType,
			[]byte(`[{"op":"add","path":"/status","value":`+status+`}]`))); err != nil {
		t.Fatal(err)
	}
	if status != "null" {
		return
	}
	kube.Patch(t, w.tc, u, `{"status":null}`)
}

// TestSecretOfAnotherNamespace shows that Secrets come from the namespace of the application only.
func TestSecretOfAnotherNamespace(t *testing.T) {
	w := newWorld(t)
	kube.Create(t, w.c, secret(local.Namespace(t), "sql", "password", "foreign"))
	app := w.application("web", build.ResourceTemplate("a", build.ConfigMap(w.tns, "a"), "sql"))
	kube.Create(t, w.c, app)
	w.awaitResource(t, "a", workloadv1alpha1.StateScheduled, workloadv1alpha1.ReasonWaitingForSecret)
	kube.Create(t, w.c, secret(w.ns, "sql", "password", "own"))
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	w.awaitCopy(t, "a-sql", map[string]string{"password": "own"})
}
