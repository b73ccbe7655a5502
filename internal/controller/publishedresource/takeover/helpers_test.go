package takeover_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func create(t *testing.T, c client.Client, objs ...client.Object) {
	t.Helper()
	for _, o := range objs {
		if err := c.Create(t.Context(), o); err != nil {
			t.Errorf("cannot create %T %s/%s: %v", o, o.GetNamespace(), o.GetName(), err)
		}
	}
}

// patch changes an object by a JSON merge patch.
func patch(t *testing.T, c client.Client, o client.Object, body map[string]any) {
	t.Helper()
	if err := c.Patch(t.Context(), o, mergePatch(t, body)); err != nil {
		t.Errorf("cannot patch %T %s/%s: %v", o, o.GetNamespace(), o.GetName(), err)
	}
}

func patchStatus(t *testing.T, c client.Client, u *unstructured.Unstructured, phase string) {
	t.Helper()
	if err := c.Status().Patch(t.Context(), u,
		mergePatch(t, map[string]any{"status": map[string]any{"phase": phase}})); err != nil {
		t.Errorf("cannot patch status of %s/%s: %v", u.GetNamespace(), u.GetName(), err)
	}
}

func mergePatch(t *testing.T, body map[string]any) client.Patch {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return client.RawPatch(types.MergePatchType, b)
}

// each does something for each element, several at a time.
func each[T any](list []T, do func(T)) {
	const atOnce = 20
	var all sync.WaitGroup
	for i := range atOnce {
		all.Go(func() {
			for j := i; j < len(list); j += atOnce {
				do(list[j])
			}
		})
	}
	all.Wait()
}

// await waits until an object is as wanted.
func await(t *testing.T, c client.Client, u *unstructured.Unstructured, what string, is func() bool) {
	t.Helper()
	kube.Await(t, c, u, what+" of "+u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName(), func() (bool, string) {
		return is(), fmt.Sprint(u.Object)
	})
}

func awaitGone(t *testing.T, c client.Client, u *unstructured.Unstructured) {
	t.Helper()
	kube.Eventually(t, u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName()+" to be gone", func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(u), u)
		return apierrors.IsNotFound(err), fmt.Sprint(u.Object)
	})
}

func field(u *unstructured.Unstructured, path string) string {
	s, _, _ := unstructured.NestedString(u.Object, strings.Split(path, ".")...)
	return s
}

// dataOf returns a value of a Secret, in base64.
func dataOf(u *unstructured.Unstructured, key string) string {
	s, _, _ := unstructured.NestedString(u.Object, "data", key)
	return s
}

// versions returns the UIDs and resource versions of objects of a kind, by their names.
func versions(t *testing.T, c client.Client, apiVersion, kind string, of client.ListOption) map[string]string {
	t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(object(apiVersion, kind, "", "").GroupVersionKind())
	kube.List(t, c, list, of)
	out := map[string]string{}
	for _, o := range list.Items {
		out[kind+" "+o.Namespace+"/"+o.Name] = string(o.UID) + " " + o.ResourceVersion
	}
	return out
}

// standing returns the UIDs and resource versions of all that the agent has left for a tenant, on both sides, but for
// the state.
func (a *agent) standing(t *testing.T, in tenant) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, kind := range []string{"Cert", "Secret", "ConfigMap"} {
		apiVersion := "v1"
		if kind == "Cert" {
			apiVersion = a.group + "/v1"
		}
		for _, ns := range namespaces {
			maps.Copy(out, versions(t, in, apiVersion, kind, client.InNamespace(ns)))
		}
		maps.Copy(out, versions(t, a.c, apiVersion, kind, client.InNamespace(in.cluster)))
	}
	return out
}
