package reference

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// attempts is how often a change of finalizers is tried while others change them too.
const attempts = 10

// on returns the finalizers of a resource after a change of those it is thought to have, and whether the resource takes
// the change.
func (c *change) on(u metav1.Object, had []string) ([]string, bool) {
	if c.uid != "" && u.GetUID() != c.uid {
		return had, false // It is gone, and this is a namesake.
	}
	isOurs := func(s string) bool { return slices.Contains(c.finalizers, s) }
	if !c.add {
		return slices.DeleteFunc(slices.Clone(had), isOurs), true
	}
	next := slices.Clone(had)
	for _, f := range c.finalizers {
		if !slices.Contains(next, f) {
			next = append(next, f)
		}
	}
	// One that is being deleted takes no new finalizers.
	return next, len(next) == len(had) || u.GetDeletionTimestamp() == nil
}

// send makes a batch of changes with one patch, which it repeats if others change the finalizers at the same time. It
// starts from the resource as the control plane has just returned it, if that is known, or as the first change knows
// it. It returns the resource as it is then, nil if that is not known.
func (e *editor) send(ctx context.Context, at location, u *unstructured.Unstructured,
	batch []*change,
) *unstructured.Unstructured {
	u, err := e.try(ctx, at, u, batch)
	for _, c := range batch {
		c.err = err
		if err == nil && u != nil && (c.uid == "" || c.uid == u.GetUID()) && c.holds(u) {
			c.answer = u
		}
	}
	return u
}

// holds reports whether the finalizers of a resource are as a change leaves them.
func (c *change) holds(u *unstructured.Unstructured) bool {
	for _, f := range c.finalizers {
		if slices.Contains(u.GetFinalizers(), f) != c.add {
			return false
		}
	}
	return true
}

func (e *editor) try(ctx context.Context, at location, u *unstructured.Unstructured,
	batch []*change,
) (*unstructured.Unstructured, error) {
	if len(batch) == 0 {
		return u, nil
	}
	client := e.cluster.Resource(at.resource, at.Namespace)
	known := batch[0].known
	var err error
	for range attempts {
		if u == nil && known == nil {
			u, err = client.Get(ctx, at.Name, metav1.GetOptions{})
			if err != nil {
				return nil, ignoreNotFound(err)
			}
		}
		if u != nil {
			known = u
		}
		finalizers, taken := applied(known, batch)
		if !taken || u != nil && slices.Equal(finalizers, known.GetFinalizers()) {
			return u, nil
		}
		u, err = patchFinalizers(ctx, client, known, finalizers)
		if !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
			return u, ignoreNotFound(err)
		}
		u, known = nil, nil
	}
	return nil, err
}

// patchFinalizers makes the finalizers of a resource those of a list. The error is a conflict, or says that the patch
// is invalid, if the resource is not as it was known. Nothing is returned beside an error.
func patchFinalizers(ctx context.Context, c dynamic.ResourceInterface, known metav1.Object,
	finalizers []string,
) (*unstructured.Unstructured, error) {
	body, err := patchOf(known, finalizers)
	if err != nil {
		return nil, err
	}
	u, err := c.Patch(ctx, known.GetName(), types.JSONPatchType, body, metav1.PatchOptions{})
	if err != nil {
		return nil, err
	}
	return u, nil
}

// applied returns the finalizers of a resource after a batch of changes, and whether it takes any of them.
func applied(known metav1.Object, batch []*change) (finalizers []string, taken bool) {
	finalizers = known.GetFinalizers()
	for _, c := range batch {
		if next, ok := c.on(known, finalizers); ok {
			finalizers, taken = next, true
		}
	}
	return finalizers, taken
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// patchOf returns a JSON patch of finalizers that only fits a resource with the UID and the finalizers that are known
// of it. Whatever else changes meanwhile is in nobody's way.
func patchOf(known metav1.Object, finalizers []string) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	const path = "/metadata/finalizers"
	var had any // null also fits if there is no such field
	if len(known.GetFinalizers()) > 0 {
		had = known.GetFinalizers()
	}
	b, err := json.Marshal([]operation{
		{Op: "test", Path: "/metadata/uid", Value: known.GetUID()},
		{Op: "test", Path: path, Value: had},
		{Op: "add", Path: path, Value: finalizers},
	})
	return b, errors.Wrap(err, "cannot encode patch")
}
