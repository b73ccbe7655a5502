package sync_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// memoryMost is the memory that the chart gives the provider.
	memoryMost = 1 << 30
	// patience is how long is waited for what a kcp answers late that all of them keep busy.
	patience = 10 * time.Minute
)

// TestHostileTenants shows that the memory that the chart gives the provider is enough for nine hostile workspaces at
// once. Each costs as much as it can, in a way of its own. The provider starts with all of that there, sees it change,
// and starts again. Another workspace is served meanwhile.
func TestHostileTenants(t *testing.T) {
	s := open(t, 1, byReference)
	g := &good{shop: s, in: s.consumers[0]}
	g.sync(t)
	h := newHostiles(t, s)

	s.provider.Kill()
	h.come(t, "Unused")
	g.restart(t, "with 100 MiB of Secrets that nothing refers to in one workspace")

	s.provider.Kill()
	h.come(t, hostileKinds()...)
	g.restart(t, "beside all of them")
	h.awaitAll(t)
	g.during(t, "as they change what they have", h.change)

	s.provider.Kill()
	g.restart(t, "when they have")
}

// byReference lets Hats have any content, and name Secrets of the workspace.
func byReference(o *v1alpha1.PublishedResource, d *apiextensionsv1.CustomResourceDefinition) {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec.XPreserveUnknownFields = new(true)
	spec.Properties["keyName"] = text
	spec.Properties["keys"] = apiextensionsv1.JSONSchemaProps{
		Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text},
	}
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
	for identifier, path := range map[string]v1alpha1.MutationPath{
		"key": "spec.keyName", "keys": "spec.keys",
	} {
		o.Spec.Related = append(o.Spec.Related, v1alpha1.RelatedResource{
			Identifier: identifier, Origin: v1alpha1.OriginKCP, Kind: "Secret",
			Object: &v1alpha1.RelatedResourceObject{RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{
				Reference: &v1alpha1.FieldReference{Path: path},
			}},
		})
	}
}

// A good workspace is one with objects that are small.
type good struct {
	*shop

	in consumer
	n  int
}

// sync makes an object with a related Secret, and waits until both are copied and the status is back.
func (g *good) sync(t *testing.T) {
	t.Helper()
	g.n++
	name := fmt.Sprintf("good-%d", g.n)
	u := g.hat(name)
	u.Object["spec"].(map[string]any)["keyName"] = name
	kube.Create(t, g.in, secretIn(metav1.NamespaceDefault, name, "a"), u)
	var copied *unstructured.Unstructured
	kube.EventuallyBy(t, patience, "the copies of a good workspace", func() (bool, string) {
		for _, c := range g.copies(t, g.in) {
			if c.GetAnnotations()[objectsync.AnnotationName] == name {
				copied = &c
			}
		}
		err := g.c.Get(t.Context(), types.NamespacedName{Namespace: g.in.cluster, Name: name}, &corev1.Secret{})
		return copied != nil && err == nil, fmt.Sprint(err)
	})
	kube.PatchStatus(t, g.c, copied, `{"status":{"phase":"Issued"}}`)
	kube.EventuallyBy(t, patience, "the status in a good workspace", func() (bool, string) {
		err := g.in.Get(t.Context(), client.ObjectKeyFromObject(u), u)
		return err == nil && u.Object["status"] != nil, fmt.Sprint(err)
	})
}

// restart starts the provider, which was killed, and waits until it serves the good workspace.
func (g *good) restart(t *testing.T, when string) {
	t.Helper()
	g.start(t)
	g.sync(t)
	g.report(t, "from a start, "+when)
}

// during has the good workspace served again and again while something is done.
func (g *good) during(t *testing.T, when string, do func(context.Context) error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do(context.WithoutCancel(t.Context())) }()
	for err, ended := error(nil), false; !ended; {
		g.sync(t)
		select {
		case err = <-done:
			ended = true
		default:
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	g.report(t, when)
}

// report logs the most memory that the provider has had since its start, and fails the test if that is too much.
func (g *good) report(t *testing.T, when string) {
	t.Helper()
	peak, err := g.provider.PeakRSS()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("peak RSS %d MiB, %s", peak>>20, when)
	if peak > memoryMost {
		t.Errorf("%s: want a peak RSS of at most %d MiB, got %d", when, memoryMost>>20, peak>>20)
	}
}

// secretIn returns a Secret with one value.
func secretIn(namespace, name, value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"key": []byte(value)},
	}
}
