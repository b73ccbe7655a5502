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
// server holds it then. Errors repeat no value of a Secret.
func Apply(ctx context.Context, c dynamic.ResourceInterface, manifest *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	u, err := patch(ctx, c, manifest, metav1.PatchOptions{FieldManager: manager})
	return u, errors.Wrapf(err, "cannot apply %s %q", manifest.GetKind(), manifest.GetName())
}

// DryRun returns the resource as the server would hold it after Apply, its defaults included, and changes nothing. The server asks for
// the rights that Apply needs. A resource that does not exist has another UID in each answer. Errors repeat no value of a Secret.
func DryRun(ctx context.Context, c dynamic.ResourceInterface, manifest *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	u, err := patch(ctx, c, manifest, metav1.PatchOptions{FieldManager: manager, DryRun: []string{metav1.DryRunAll}})
	return u, errors.Wrapf(err, "cannot apply %s %q", manifest.GetKind(), manifest.GetName())
}

func patch(
	ctx context.Context, c dynamic.ResourceInterface, manifest *unstructured.Unstructured, o metav1.PatchOptions,
) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(manifest.Object)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode manifest")
	}
	force := true
	o.Force = &force
	u, err := c.Patch(ctx, manifest.GetName(), types.ApplyPatchType, body, o)
	return u, clean(err, manifest)
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
