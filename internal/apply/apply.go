package apply

import (
	"context"
	"encoding/json"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Apply applies a manifest by server-side apply, taking over fields of other managers that it sets. It returns the resource as the
// server holds it then.
func Apply(ctx context.Context, c dynamic.ResourceInterface, manifest *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(manifest.Object)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode manifest")
	}
	force := true
	u, err := c.Patch(ctx, manifest.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: &force})
	return u, errors.Wrapf(err, "cannot apply %s %q", manifest.GetKind(), manifest.GetName())
}

// Deletion says what is deleted, and how.
type Deletion struct {
	// Name of the resource.
	Name string
	// UID the resource must have. A namesake is left alone.
	UID types.UID
	// Propagation says what happens to dependents. Empty leaves it to the server.
	Propagation metav1.DeletionPropagation
}

// Delete requests the deletion of a resource. The server answers with a conflict if a resource of that name has another UID.
func Delete(ctx context.Context, c dynamic.ResourceInterface, d Deletion) error {
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &d.UID}}
	if d.Propagation != "" {
		o.PropagationPolicy = &d.Propagation
	}
	return errors.Wrapf(c.Delete(ctx, d.Name, o), "cannot delete %q", d.Name)
}
