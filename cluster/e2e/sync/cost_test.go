package sync_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const lookAtBindings = "list apibindings.apis.kcp.io"

// TestCost counts what an object costs in its whole life: four writes until its status is up, two for a change, three
// for its end, and no reads but one at its end, of whether its workspace still binds the API.
func TestCost(t *testing.T) {
	const many = 50 // in each of two workspaces
	s := open(t, 2)
	for _, in := range s.consumers {
		s.create(t, in, "first", 1) // It has its namespace made.
		s.awaitCopies(t, in, 1)
	}
	resource := "hats." + s.group
	for _, step := range []struct {
		name         string
		act          func(in consumer)
		kcp, service map[string]int // requests for each object
		looks        int            // at bindings, at most
	}{
		{
			name: "Create",
			act: func(in consumer) {
				s.create(t, in, "hat", many)
				s.awaitCopies(t, in, many+1)
			},
			kcp:     map[string]int{"patch " + resource: 1},
			service: map[string]int{"create " + resource: 1, "create secrets": 1},
		},
		{
			name:    "Status",
			act:     func(in consumer) { s.issue(t, in) },
			kcp:     map[string]int{"patch " + resource + "/status": 1},
			service: map[string]int{},
		},
		{
			name:    "Change",
			act:     func(in consumer) { s.change(t, in, many) },
			kcp:     map[string]int{},
			service: map[string]int{"patch " + resource: 1, "patch secrets": 1},
		},
		{
			name:    "Delete",
			act:     func(in consumer) { s.remove(t, in, many, 1) },
			kcp:     map[string]int{"patch " + resource: 1},
			service: map[string]int{"delete " + resource: 1, "delete secrets": 1},
			looks:   1,
		},
	} {
		t.Run(step.name, func(t *testing.T) {
			awaitSilence(t)
			m := mark(t)
			for _, in := range s.consumers {
				step.act(in)
			}
			awaitSilence(t)
			for server, c := range map[string]struct {
				asked kube.Requests
				want  map[string]int
			}{"kcp": {
				asked: about(m.inKCP(t)),
				want:  step.kcp,
			}, "the service cluster": {
				asked: about(m.onService(t)),
				want:  step.service,
			}} {
				want := map[string]int{}
				for what := range c.want {
					want[what] = c.want[what] * many * len(s.consumers)
				}
				got := c.asked.Count()
				if got[lookAtBindings] <= step.looks*many*len(s.consumers) {
					delete(got, lookAtBindings)
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("requests to %s: -want, +got:\n%s%s", server, diff, c.asked)
				}
			}
		})
	}
}

// about leaves out events and the counts in the status of PublishedResources.
func about(r kube.Requests) kube.Requests {
	return r.That(func(e local.AuditEvent) bool { return e.Resource != "events" && e.Resource != "publishedresources" })
}

// issue gives all copies of a workspace but the first a status, and waits until the workspace has them.
func (s *shop) issue(t *testing.T, in consumer) {
	t.Helper()
	all := slices.DeleteFunc(s.copies(t, in), func(u unstructured.Unstructured) bool {
		return u.GetAnnotations()[objectsync.AnnotationName] == "first-0"
	})
	if err := each(len(all), func(i int) error {
		return s.c.Status().Patch(context.WithoutCancel(t.Context()), &all[i],
			client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Issued"}}`)))
	}); err != nil {
		t.Fatal(err)
	}
	awaitField(t, "Issued", len(all), func() []unstructured.Unstructured { return s.list(t, in) }, "status", "phase")
}

// change changes objects of a workspace, and waits until their copies are changed.
func (s *shop) change(t *testing.T, in consumer, n int) {
	t.Helper()
	if err := each(n, func(i int) error {
		u := s.hat(fmt.Sprintf("hat-%d", i))
		return in.Patch(context.WithoutCancel(t.Context()), u,
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":"XL"}}`)))
	}); err != nil {
		t.Fatal(err)
	}
	awaitField(t, "XL", n, func() []unstructured.Unstructured { return s.copies(t, in) }, "spec", "size")
}

// awaitField waits until a field of some objects, of n of them, has a value.
func awaitField(t *testing.T, want string, n int, list func() []unstructured.Unstructured, path ...string) {
	t.Helper()
	kube.Eventually(t, strings.Join(path, ".")+" to be "+want, func() (bool, string) {
		got := 0
		for _, u := range list() {
			if value, _, _ := unstructured.NestedString(u.Object, path...); value == want {
				got++
			}
		}
		return got == n, strconv.Itoa(got)
	})
}

// remove deletes objects of a workspace, and waits until they are gone and the rest is left.
func (s *shop) remove(t *testing.T, in consumer, n, rest int) {
	t.Helper()
	if err := each(n, func(i int) error {
		return in.Delete(context.WithoutCancel(t.Context()), s.hat(fmt.Sprintf("hat-%d", i)))
	}); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the objects to be gone", func() (bool, string) {
		left := len(s.list(t, in))
		return left == rest, strconv.Itoa(left)
	})
	s.awaitCopies(t, in, rest)
}

// list returns the objects of a workspace.
func (s *shop) list(t *testing.T, in consumer) []unstructured.Unstructured {
	t.Helper()
	return kube.ListOf(t, in, s.group+"/v1", "Hat", client.InNamespace(metav1.NamespaceDefault))
}
