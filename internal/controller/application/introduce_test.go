package application_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestIntroduce shows what becomes of a resource that is there although it was not when its name was looked up:
// nothing.
func TestIntroduce(t *testing.T) {
	tc := target.Client(t)
	dyn, err := dynamic.NewForConfig(target.Config())
	if err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]map[string]string{
		"Absent":     nil,
		"Unrelated":  {"theirs": "1"},
		"Agreeing":   {"color": "blue"},
		"Conflicted": {"color": "red"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := target.Namespace(t)
			cm := &corev1.ConfigMap{ObjectMeta: build.Meta(ns, "one"), Data: there}
			if there != nil {
				kube.Create(t, tc, cm)
			}
			before := cm.DeepCopy()
			m := &unstructured.Unstructured{Object: build.ConfigMap(ns, "one", "color", "blue")}
			m.SetAnnotations(map[string]string{"ours": "true"})
			c := apply.Client{
				Resources: dyn.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(ns), Manager: "me",
			}
			got, err := c.Introduce(t.Context(), m)
			if there == nil {
				if err != nil || got.GetAnnotations()["ours"] != "true" {
					t.Errorf("want it made, got %v, %v", got, err)
				}
				return
			}
			if diff := cmp.Diff(apply.ErrTaken, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("error: -want, +got:\n%s", diff)
			}
			kube.Get(t, tc, client.ObjectKeyFromObject(cm), cm)
			for _, o := range []*corev1.ConfigMap{before, cm} {
				o.ResourceVersion, o.ManagedFields = "", nil
			}
			if diff := cmp.Diff(before, cm); diff != "" {
				t.Errorf("what was there: -before, +after:\n%s", diff)
			}
		})
	}
}
