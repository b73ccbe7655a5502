package xpkg

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A conditioned resource says how it is.
type conditioned interface {
	client.Object
	GetCondition(t xpv2.ConditionType) xpv2.Condition
}

func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatalf("cannot create %T %s: %v", o, o.GetName(), err)
	}
}

// provider returns the Provider.
func (s *stage) provider(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "Provider"})
	kube.Get(t, s.c, types.NamespacedName{Name: "provider-kcp"}, u)
	return u
}

// awaitProvider waits until Crossplane says of the Provider that conditions hold.
func (s *stage) awaitProvider(t *testing.T, want ...xpv2.ConditionType) {
	t.Helper()
	kube.Eventually(t, "the Provider to be healthy", func() (bool, string) {
		u := s.provider(t)
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		held := 0
		for _, c := range conditions {
			for _, w := range want {
				if c := c.(map[string]any); c["type"] == string(w) && c["status"] == "True" {
					held++
				}
			}
		}
		revisions := &unstructured.UnstructuredList{}
		revisions.SetGroupVersionKind(schema.GroupVersionKind{
			Group: "pkg.crossplane.io", Version: "v1", Kind: "ProviderRevisionList",
		})
		_ = s.c.List(t.Context(), revisions) // It only explains.
		said := []string{text(conditions)}
		for _, r := range revisions.Items {
			conditions, _, _ := unstructured.NestedSlice(r.Object, "status", "conditions")
			said = append(said, "revision "+r.GetName()+": "+text(conditions))
		}
		return held == len(want), strings.Join(said, "\n")
	})
}

// awaitKind waits until a CustomResourceDefinition is established.
func (s *stage) awaitKind(t *testing.T, name string) {
	t.Helper()
	kube.Eventually(t, name+" to be established", func() (bool, string) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := s.c.Get(t.Context(), types.NamespacedName{Name: name}, crd)
		for _, c := range crd.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, ""
			}
		}
		return false, "read: " + message(err)
	})
}

func (s *stage) awaitReady(t *testing.T, o conditioned) {
	t.Helper()
	kube.Eventually(t, o.GetName()+" to be ready", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		ready, synced := o.GetCondition(xpv2.TypeReady), o.GetCondition(xpv2.TypeSynced)
		return ready.Status == corev1.ConditionTrue && synced.Status == corev1.ConditionTrue,
			"read: " + message(err) + ", ready: " + ready.Message + ", synced: " + synced.Message
	})
}

// awaitMessage waits until a resource says in a condition why it is not synced.
func (s *stage) awaitMessage(t *testing.T, o conditioned, part string) {
	t.Helper()
	kube.Eventually(t, o.GetName()+" to say what is missing", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		c := o.GetCondition(xpv2.TypeSynced)
		return c.Status == corev1.ConditionFalse &&
			strings.Contains(c.Message, part), "read: " + message(err) + ", synced: " + c.Message
	})
}

// awaitData waits until a ConfigMap of the target has a color.
func (s *stage) awaitData(t *testing.T, name, color string) {
	t.Helper()
	kube.Eventually(t, "ConfigMap "+name+" on the target", func() (bool, string) {
		cm := &corev1.ConfigMap{}
		err := s.tc.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: name}, cm)
		return cm.Data["color"] == color, "read: " + message(err) + ", color: " + cm.Data["color"]
	})
}

// awaitMembers waits until a collection has a number of members.
func (s *stage) awaitMembers(t *testing.T, oc client.Object, want int) {
	t.Helper()
	kube.Eventually(t, strconv.Itoa(want)+" members", func() (bool, string) {
		l := build.Namespaced().NewList()
		err := s.c.List(t.Context(), l, client.InNamespace(s.ns),
			client.MatchingLabels{commonv1.LabelKeyCollection: oc.GetName()})
		n := meta.LenList(l)
		return err == nil && n == want, "members: " + strconv.Itoa(n)
	})
}

// remove deletes an Object, and waits until it is gone.
func (s *stage) remove(t *testing.T, o client.Object) {
	t.Helper()
	kube.Delete(t, s.c, o)
	s.awaitGone(t, o)
}

func (s *stage) awaitGone(t *testing.T, o client.Object) {
	t.Helper()
	kube.Eventually(t, o.GetName()+" to be gone", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		if c, ok := o.(conditioned); ok {
			return apierrors.IsNotFound(err), "synced: " + c.GetCondition(xpv2.TypeSynced).Message
		}
		return apierrors.IsNotFound(err), "read: " + message(err)
	})
}

// clusterConfig returns a ClusterProviderConfig.
func clusterConfig(name string, spec commonv1.ProviderConfigSpec) client.Object {
	return build.ClusterConfig(name, spec)
}

// throughClusterConfig makes a namespaced Object refer to a ClusterProviderConfig.
func throughClusterConfig(o build.Object) build.Object {
	if o, ok := o.(*mobjectv1alpha1.Object); ok {
		o.Spec.ProviderConfigReference.Kind = mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind
	}
	return o
}

// deployment returns the manifest of a Deployment that runs nothing.
func deployment(namespace, name string) build.Manifest {
	labels := map[string]any{"app": name}
	return build.Manifest{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"replicas": 0, "paused": true,
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "sleeper", "image": "sleeper"}}},
			},
		},
	}
}

// text returns a value as JSON.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func message(err error) string {
	if err == nil {
		return "none"
	}
	return err.Error()
}
