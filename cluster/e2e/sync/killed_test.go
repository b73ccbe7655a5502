package sync_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestKilled kills a provider in the middle of hundreds of creations, changes and deletions, and shows that the next
// one completes each of them once.
func TestKilled(t *testing.T) {
	const many = 500
	s := open(t, 1)
	in := s.consumers[0]
	name := func(i int) *unstructured.Unstructured { return s.hat(fmt.Sprintf("hat-%d", i)) }
	for _, step := range []struct {
		name string
		act  func(i int) error
		done func(u *unstructured.Unstructured) bool // says of a copy whether it is as it is to be
		left int
	}{
		{
			name: "Create", left: many,
			act:  func(i int) error { return in.Create(context.WithoutCancel(t.Context()), name(i)) },
			done: func(*unstructured.Unstructured) bool { return true },
		},
		{
			name: "Change", left: many,
			act: func(i int) error {
				return in.Patch(context.WithoutCancel(t.Context()), name(i),
					client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":"XL"}}`)))
			},
			done: func(u *unstructured.Unstructured) bool { return sizeOf(u) == "XL" },
		},
		{
			name: "Delete",
			act:  func(i int) error { return in.Delete(context.WithoutCancel(t.Context()), name(i)) },
			done: func(*unstructured.Unstructured) bool { return false },
		},
	} {
		t.Run(step.name, func(part *testing.T) {
			acted := make(chan error, 1)
			go func() { acted <- each(many, step.act) }()
			s.killBetween(part, in, func(all []unstructured.Unstructured) bool {
				as := slices.DeleteFunc(all, func(u unstructured.Unstructured) bool { return !step.done(&u) })
				if step.left == 0 {
					return many-len(all) > many/4 && len(all) > 0
				}
				return len(as) > many/4 && len(as) < many
			})
			if err := <-acted; err != nil {
				part.Fatal(err)
			}
			s.start(t) // It serves the parts to come, too.
			s.awaitInStep(part, in, step.left)
		})
	}
}

func sizeOf(u *unstructured.Unstructured) string {
	size, _, _ := unstructured.NestedString(u.Object, "spec", "size")
	return size
}

// killBetween kills the provider as soon as the copies of a workspace say that it is in the middle of its work.
func (s *shop) killBetween(t *testing.T, in consumer, middle func([]unstructured.Unstructured) bool) {
	t.Helper()
	kube.Eventually(t, "the middle of the work", func() (bool, string) {
		all := s.copies(t, in)
		return middle(all), strconv.Itoa(len(all))
	})
	s.provider.Kill()
	if all := s.copies(t, in); !middle(all) {
		t.Fatalf("the provider had done all before it was killed: %d copies", len(all))
	}
}

// A pair is an object and what belongs to it.
type pair struct {
	Name, Above, Below string
	Finalizers         []string
}

// awaitInStep waits until a workspace has a number of objects, each of them with one copy that is like it, and that
// nothing else is there but a state for each.
func (s *shop) awaitInStep(t *testing.T, in consumer, n int) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%d objects in step", n), func() (bool, string) {
		got, want := map[string]pair{}, map[string]pair{}
		for _, u := range s.list(t, in) {
			got[u.GetName()] = pair{Name: u.GetName(), Above: sizeOf(&u), Finalizers: u.GetFinalizers()}
			want[u.GetName()] = pair{
				Name: u.GetName(), Above: sizeOf(&u), Below: sizeOf(&u), Finalizers: []string{objectsync.Finalizer},
			}
		}
		copies := s.copies(t, in)
		for _, u := range copies {
			name := cmp.Or(u.GetAnnotations()[objectsync.AnnotationName], u.GetName())
			p := got[name]
			p.Below += sizeOf(&u) // Two copies differ from one.
			got[name] = p
		}
		states := &corev1.SecretList{}
		if err := s.c.List(t.Context(), states, client.HasLabels{objectsync.LabelState},
			client.MatchingLabels{objectsync.LabelCluster: in.cluster}); err != nil {
			return false, err.Error()
		}
		diff := gocmp.Diff(want, got)
		return len(want) == n && len(copies) == n && len(states.Items) == n && diff == "",
			fmt.Sprintf("%d objects, %d copies, %d states, -want, +got: %s", len(want), len(copies), len(states.Items),
				diff)
	})
}
