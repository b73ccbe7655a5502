package kcp_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	testkcp "github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// group is that of the resources these tests export.
const group = "shop.example.com"

// publish returns a Change that exports a resource by a schema and claims events.
func publish(plural, schemaName string) kcp.Change {
	return func(d *kcp.Draft) error {
		if err := d.SetSchema(schema.GroupResource{Group: group, Resource: plural}, schemaName); err != nil {
			return err
		}
		return d.AddClaim(events(), func(kcp.Claim) bool { return false })
	}
}

func events() kcp.Claim {
	return kcp.Claim{GroupResource: schema.GroupResource{Resource: "events"}, Verbs: []string{"*"}}
}

// workspace returns a workspace with schemas for resources, and how the APIExport of a name in it is written.
func workspace(t *testing.T, export string, plurals ...string) (string, *rest.Config, kcp.ExportClient) {
	t.Helper()
	path, cfg := server.Workspace(t)
	c := testkcp.Client(t, cfg)
	for _, p := range plurals {
		s := testkcp.Schema("v1."+p+"."+group, group, p, strings.ToUpper(p[:1])+p[1:len(p)-1])
		kube.Eventually(t, "the workspace to serve APIResourceSchemas", func() (bool, string) {
			err := c.Create(t.Context(), s)
			if err != nil && !apierrors.IsServiceUnavailable(err) { // A new workspace may not know yet what it serves.
				t.Fatal(err)
			}
			return err == nil, fmt.Sprint(err)
		})
	}
	client := exports(t, cfg)
	return path, cfg, kcp.ExportClient{
		Server: cfg.Host, Client: client, Name: export, MayCreate: true, Put: func(*unstructured.Unstructured) {},
		Read: func(ctx context.Context) (*unstructured.Unstructured, error) {
			u, err := client.Get(ctx, export, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil, nil
			}
			return u, err
		},
	}
}

func getExport(t *testing.T, cfg *rest.Config, name string) *apisv1alpha2.APIExport {
	t.Helper()
	e := &apisv1alpha2.APIExport{}
	kube.Get(t, testkcp.Client(t, cfg), types.NamespacedName{Name: name}, e)
	return e
}

// resourcesOf returns group resources and their schemas, sorted.
func resourcesOf(e *apisv1alpha2.APIExport) []string {
	var all []string
	for _, r := range e.Spec.Resources {
		all = append(all, r.Name+"="+r.Schema)
	}
	slices.Sort(all)
	return all
}

// TestConcurrentWriters shows that publishers in one process, publishers in another and twenty strangers write one
// APIExport at a time and that nothing of anybody is lost. Strangers read, change and update, as kubectl edit does.
func TestConcurrentWriters(t *testing.T) {
	const each, strangers = 20, 20
	var plurals []string
	for i := range 3 * each {
		plurals = append(plurals, fmt.Sprintf("things%ds", i))
	}
	_, cfg, place := workspace(t, "shop", plurals...)
	var want []string
	for _, p := range plurals {
		want = append(want, p+"=v1."+p+"."+group)
	}
	slices.Sort(want)

	var all sync.WaitGroup
	for n, w := range []*kcp.Writer{{}, {}} {
		for _, p := range plurals[n*each : (n+1)*each] {
			all.Go(func() {
				if _, err := w.Write(t.Context(), place, publish(p, "v1."+p+"."+group)); err != nil {
					t.Errorf("Write(%s): %v", p, err)
				}
			})
		}
	}
	for n := range strangers {
		all.Go(func() {
			p := plurals[2*each+n]
			if err := edit(t.Context(), place.Client, func(u *unstructured.Unstructured) {
				r, _, _ := unstructured.NestedSlice(u.Object, "spec", "resources")
				r = append(r, map[string]any{
					"name": p, "group": group, "schema": "v1." + p + "." + group,
					"storage": map[string]any{"crd": map[string]any{}},
				})
				_ = unstructured.SetNestedSlice(u.Object, r, "spec", "resources")
				u.SetAnnotations(merged(u.GetAnnotations(), map[string]string{"stranger-" + p: "was here"}))
			}); err != nil {
				t.Errorf("edit(%s): %v", p, err)
			}
		})
	}
	all.Wait()
	e := getExport(t, cfg, "shop")
	if diff := cmp.Diff(want, resourcesOf(e)); diff != "" {
		t.Errorf("resources of APIExport: -want, +got:\n%s", diff)
	}
	for _, p := range plurals[2*each:] {
		if e.Annotations["stranger-"+p] == "" {
			t.Errorf("annotation of stranger %s is lost", p)
		}
	}
	if diff := cmp.Diff([]apisv1alpha2.PermissionClaim{{
		GroupResource: apisv1alpha2.GroupResource{Resource: "events"}, Verbs: []string{"*"},
	}},
		e.Spec.PermissionClaims); diff != "" {
		t.Errorf("claims of APIExport: -want, +got:\n%s", diff)
	}
}

// edit changes an APIExport as a stranger does, once there is one.
func edit(ctx context.Context, c dynamic.ResourceInterface, change func(*unstructured.Unstructured)) error {
	for ctx.Err() == nil {
		u, err := c.Get(ctx, "shop", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		change(u)
		if _, err = c.Update(ctx, u, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
	return ctx.Err()
}

func merged(a, b map[string]string) map[string]string {
	if a == nil {
		a = map[string]string{}
	}
	maps.Copy(a, b)
	return a
}

// TestWriteFails shows that a Change that fails does not spoil those of others at the same time, and that an APIExport
// is only made by who may.
func TestWriteFails(t *testing.T) {
	_, cfg, place := workspace(t, "shop", "hats", "coats")
	errBoom := errors.New("boom")
	w := &kcp.Writer{}
	visitor := place
	visitor.MayCreate = false
	if _, err := w.Write(t.Context(), visitor, publish("hats", "v1.hats."+group)); !errors.Is(err,
		kcp.ErrNoExport) {
		t.Errorf("Write to an APIExport that does not exist and must not be made: %v", err)
	}
	cases := map[string]struct {
		reason string
		change kcp.Change
		want   error
	}{
		"OfItself": {
			reason: "A Change that fails is not made.",
			change: func(*kcp.Draft) error { return errBoom },
			want:   errBoom,
		},
		"ByTheServer": {
			reason: "The server refuses a schema of another resource.",
			change: publish("gloves", "v1.hats."+group), // A Change of coats could be made over it in the same write.
			want:   cmpopts.AnyError,
		},
		"NotAtAll":     {reason: "What others get wrong is not ours.", change: publish("hats", "v1.hats."+group)},
		"NotAtAllElse": {reason: "What others get wrong is not ours.", change: publish("coats", "v1.coats."+group)},
	}
	var all sync.WaitGroup
	for name, tc := range cases {
		all.Go(func() {
			_, err := w.Write(t.Context(), place, tc.change)
			if diff := cmp.Diff(tc.want, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s: %s\nWrite: -want error, +got error:\n%s", name, tc.reason, diff)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff([]string{"coats=v1.coats." + group, "hats=v1.hats." + group},
		resourcesOf(getExport(t, cfg, "shop"))); diff != "" {
		t.Errorf("resources of APIExport: -want, +got:\n%s", diff)
	}
}
