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

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// attempts is how often a change of finalizers is tried while others change them too.
const attempts = 10

// A resource is one whose finalizers are changed.
type resource struct {
	mapping target.Mapping
	pin     commonv1.PinnedReference // of any UID if it has none
	known   metav1.Object            // its last known state, nil if there is none
}

// edit changes the finalizers of a resource and returns it, nil if it is gone or so nearly that it takes no new ones. It starts from
// what is known of it, and asks the control plane if that is nothing or has become outdated.
func (r *Resolver) edit(ctx context.Context, x resource, change func([]string) []string) (*unstructured.Unstructured, error) {
	q, done, err := r.turns.take(ctx, place{resource: x.mapping.Resource, NamespacedName: nameOf(x.pin)})
	if err != nil {
		return nil, err
	}
	defer done()
	u := q.last
	if u != nil {
		x.known = u
	}
	q.last, err = r.editNow(ctx, x, u, change)
	return q.last, err
}

// editNow is edit for who has the turn. u is what is known of the resource if the control plane has just said so, else nil.
func (r *Resolver) editNow(ctx context.Context, x resource, u *unstructured.Unstructured, change func([]string) []string) (*unstructured.Unstructured, error) {
	c := r.cluster.Resource(x.mapping.Resource, x.pin.Namespace)
	var err error
	for range attempts {
		if x.known == nil {
			u, err = c.Get(ctx, x.pin.Name, metav1.GetOptions{})
			if err != nil {
				return nil, ignoreNotFound(err)
			}
			x.known = u
		}
		had := x.known.GetFinalizers()
		finalizers := change(had)
		switch {
		case x.pin.UID != "" && x.known.GetUID() != x.pin.UID:
			return nil, nil //nolint:nilnil // It is gone, and this is a namesake.
		case x.known.GetDeletionTimestamp() != nil && len(finalizers) > len(had):
			return nil, nil //nolint:nilnil // It is as good as gone.
		case u != nil && slices.Equal(finalizers, had):
			return u, nil
		}
		var body []byte
		if body, err = patchOf(x.known, finalizers); err != nil {
			return nil, err
		}
		u, err = c.Patch(ctx, x.pin.Name, types.JSONPatchType, body, metav1.PatchOptions{})
		if !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
			return u, ignoreNotFound(err)
		}
		x.known, u = nil, nil
	}
	return nil, err
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// patchOf returns a JSON patch of finalizers that only fits a resource with the UID and the finalizers that are known of it. Whatever
// else changes meanwhile is in nobody's way.
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
