package kube

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Create creates objects, in their order.
func Create(tb testing.TB, c client.Client, objs ...client.Object) {
	tb.Helper()
	each(tb, "create", objs, func(o client.Object) error { return c.Create(tb.Context(), o) })
}

// Update writes objects as they are.
func Update(tb testing.TB, c client.Client, objs ...client.Object) {
	tb.Helper()
	each(tb, "update", objs, func(o client.Object) error { return c.Update(tb.Context(), o) })
}

// Delete deletes objects, and does not wait until they are gone.
func Delete(tb testing.TB, c client.Client, objs ...client.Object) {
	tb.Helper()
	each(tb, "delete", objs, func(o client.Object) error { return c.Delete(tb.Context(), o) })
}

// Remove deletes objects, and waits until they are gone.
func Remove(tb testing.TB, c client.Client, objs ...client.Object) {
	tb.Helper()
	Delete(tb, c, objs...)
	AwaitGone(tb, c, objs...)
}

// Patch changes an object by a JSON merge patch.
func Patch(tb testing.TB, c client.Client, o client.Object, body string) {
	tb.Helper()
	each(tb, "patch", []client.Object{o}, func(o client.Object) error {
		return c.Patch(tb.Context(), o, client.RawPatch(types.MergePatchType, []byte(body)))
	})
}

// Edit changes an object as it is now.
func Edit(tb testing.TB, c client.Client, o client.Object, change func()) {
	tb.Helper()
	Get(tb, c, client.ObjectKeyFromObject(o), o)
	was := client.MergeFrom(o.DeepCopyObject().(client.Object))
	change()
	each(tb, "patch", []client.Object{o}, func(o client.Object) error { return c.Patch(tb.Context(), o, was) })
}

// PatchStatus changes the status of an object by a JSON merge patch.
func PatchStatus(tb testing.TB, c client.Client, o client.Object, body string) {
	tb.Helper()
	each(tb, "patch the status of", []client.Object{o}, func(o client.Object) error {
		return c.Status().Patch(tb.Context(), o, client.RawPatch(types.MergePatchType, []byte(body)))
	})
}

// Get reads an object.
func Get(tb testing.TB, c client.Client, n types.NamespacedName, o client.Object) {
	tb.Helper()
	if err := c.Get(tb.Context(), n, o); err != nil {
		tb.Fatalf("cannot get %T %s: %v", o, n, err)
	}
}

// List lists objects.
func List(tb testing.TB, c client.Client, l client.ObjectList, opts ...client.ListOption) {
	tb.Helper()
	if err := c.List(tb.Context(), l, opts...); err != nil {
		tb.Fatalf("cannot list %T: %v", l, err)
	}
}

// ListOf returns the resources of any kind that are chosen.
func ListOf(tb testing.TB, c client.Client, apiVersion, kind string, opts ...client.ListOption,
) []unstructured.Unstructured {
	tb.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetAPIVersion(apiVersion)
	l.SetKind(kind + "List")
	List(tb, c, l, opts...)
	return l.Items
}

// Condition returns the status of a condition of a resource of any kind, and the reason with the message. All are empty
// if it has none.
func Condition(u *unstructured.Unstructured, of string) (status, why string) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == of {
			return fmt.Sprint(m["status"]), fmt.Sprint(m["reason"], " ", m["message"])
		}
	}
	return "", ""
}

// Await reads an object again and again, until it satisfies a check.
func Await(tb testing.TB, c client.Client, o client.Object, what string, check func() (ok bool, state string)) {
	tb.Helper()
	Eventually(tb, what, func() (bool, string) {
		if err := c.Get(tb.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		return check()
	})
}

// AwaitGone waits until objects do not exist.
func AwaitGone(tb testing.TB, c client.Client, objs ...client.Object) {
	tb.Helper()
	for _, o := range objs {
		Eventually(tb, fmt.Sprintf("%T %s to be gone", o, o.GetName()), func() (bool, string) {
			err := c.Get(tb.Context(), client.ObjectKeyFromObject(o), o)
			return apierrors.IsNotFound(err), fmt.Sprintf("%v, deleted at %v, finalizers %v", err, o.GetDeletionTimestamp(),
				o.GetFinalizers())
		})
	}
}

// AwaitEvent waits until an event is seen whose object and message have some texts, and returns it.
func AwaitEvent(tb testing.TB, c client.Client, reason string, texts ...string) (found corev1.Event) {
	tb.Helper()
	Eventually(tb, fmt.Sprint("event ", reason, texts), func() (bool, string) {
		list, seen := &corev1.EventList{}, []string(nil)
		if err := c.List(tb.Context(), list); err != nil {
			return false, err.Error()
		}
		for _, e := range list.Items {
			is := e.InvolvedObject.Name + ": " + e.Message
			lacks := func(text string) bool { return !strings.Contains(is, text) }
			if e.Reason == reason && !slices.ContainsFunc(texts, lacks) {
				found = e
				return true, ""
			}
			seen = append(seen, e.Reason+" "+is)
		}
		return false, strings.Join(seen, "; ")
	})
	return found
}

func each(tb testing.TB, verb string, objs []client.Object, do func(client.Object) error) {
	tb.Helper()
	for _, o := range objs {
		if err := do(o); err != nil {
			tb.Fatalf("cannot %s %T %s: %v", verb, o, o.GetName(), err)
		}
	}
}

// AtOnce does something for each element of a list, several at a time.
func AtOnce[T any](list []T, do func(T)) {
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
