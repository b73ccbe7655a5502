package platform

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// forgery is what a consumer tries in an order: another Composition, another target, the Objects of others, another
// Secret, a halt.
const forgery = `{"apiVersion":"capabilities.m.morningspace.io/v1alpha1","kind":"Networking",
	"metadata":{"namespace":"default","name":"web",
	"annotations":{"capabilities.morningspace.io/provider-config":"us","crossplane.io/external-name":"forged",
		"crossplane.io/paused":"true","crossplane.io/composition-resource-name":"forged"},
	"labels":{"crossplane.io/composite":"forged"}},
	"spec":{"compositionRef":{"name":"forged"},"resourceRefs":[{"apiVersion":"v1","kind":"Secret","name":"forged"}],
	"writeConnectionSecretToRef":{"name":"forged"},
	"crossplane":{"compositionRef":{"name":"forged"},"compositionSelector":{"matchLabels":{"provider":"forged"}},
		"resourceRefs":[{"apiVersion":"v1","kind":"Secret","name":"forged"}]}}}`

// isolates shows that an order of the same name in another workspace is another one on each hop, and that nothing a
// consumer forges in it has an effect.
func (b *bed) isolates(t *testing.T) {
	first, second := b.consumer(t, teamA), b.consumer(t, teamB)
	b.second = second
	b.bind(t, second)
	forged := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(forgery), &forged.Object); err != nil {
		t.Fatal(err)
	}
	kube.Create(t, second, forged)
	second.await(t, "web", "Ready", "True")
	for _, in := range []consumer{first, second} {
		b.wantComposed(t, in)
	}
	if a, b := address(t, first), address(t, second); a == b {
		t.Errorf("both workspaces have the address of one proxy, %s", a)
	}
}

// wantComposed fails the test unless a workspace has one composite, three Objects for the cluster eu, and on it a proxy
// in a namespace of its own.
func (b *bed) wantComposed(t *testing.T, in consumer) {
	t.Helper()
	composites := list(t, b.c, networkings, in.cluster)
	if len(composites) != 1 {
		t.Fatalf("composites of %s: want one, got %d", in.name, len(composites))
	}
	if text := fmt.Sprint(composites[0].Object); strings.Contains(text, "forged") || strings.Contains(text, "paused") {
		t.Errorf("composite of %s: what was forged has come down: %s", in.name, text)
	}
	ref, _, _ := unstructured.NestedString(composites[0].Object, "spec", "crossplane", "compositionRef", "name")
	if ref != "networkings.platform.example.com" {
		t.Errorf("Composition of %s: got %q", in.name, ref)
	}
	made := list(t, b.c, objects, in.cluster)
	if len(made) != 3 {
		t.Errorf("Objects of %s: want 3, got %d", in.name, len(made))
	}
	for _, o := range made {
		got, _, _ := unstructured.NestedStringMap(o.Object, "spec", "providerConfigRef")
		if diff := cmp.Diff(map[string]string{"kind": "ClusterProviderConfig", "name": "eu"}, got); diff != "" {
			t.Errorf("target of Object %s of %s: -want, +got:\n%s", o.GetName(), in.name, diff)
		}
	}
	b.wantProxies(t, in, 1)
}

// wantProxies fails the test unless a workspace has some proxies on the target.
func (b *bed) wantProxies(t *testing.T, in consumer, want int) {
	t.Helper()
	proxies := &appsv1.DeploymentList{}
	kube.List(t, b.tc, proxies, client.InNamespace("tenant-"+in.cluster))
	if len(proxies.Items) != want {
		t.Errorf("proxies of %s on the target: want %d, got %d", in.name, want, len(proxies.Items))
	}
}

// wantNothing waits until nothing of a workspace's orders is left: no copy, Object, Secret or state on the control
// plane, and no namespace on the target.
func (b *bed) wantNothing(t *testing.T, in consumer) {
	t.Helper()
	kube.Eventually(t, "nothing to be left of "+in.name, func() (bool, string) {
		left := append(list(t, b.c, networkings, in.cluster), list(t, b.c, objects, in.cluster)...)
		for _, s := range append(list(t, b.c, corev1.SchemeGroupVersion.WithKind("Secret"), in.cluster),
			list(t, b.c, corev1.SchemeGroupVersion.WithKind("Secret"), "crossplane-system")...) {
			if s.GetNamespace() == in.cluster || strings.Contains(s.GetName(), in.cluster) {
				left = append(left, s)
			}
		}
		var names []string
		for _, u := range left {
			names = append(names, u.GetKind()+" "+u.GetName())
		}
		err := b.tc.Get(t.Context(), types.NamespacedName{Name: "tenant-" + in.cluster}, &corev1.Namespace{})
		return len(left) == 0 && apierrors.IsNotFound(err), fmt.Sprint(names, " on the target: ", err)
	})
}

// address returns the address of the proxy that a workspace has been told.
func address(t *testing.T, in consumer) string {
	t.Helper()
	s := &corev1.Secret{}
	kube.Eventually(t, "the Secret in "+in.name, func() (bool, string) {
		err := in.Get(t.Context(), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "web-connection"}, s)
		return err == nil && len(s.Data["host"]) > 0, fmt.Sprint(err, s.Data)
	})
	return string(s.Data["host"])
}
