package apply

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Apply applies a manifest by server-side apply, taking over fields of other managers that it sets. It returns the
// resource as the server holds it then. Errors repeat no value of a Secret.
func Apply(ctx context.Context, c dynamic.ResourceInterface, manifest *unstructured.Unstructured,
	manager string,
) (*unstructured.Unstructured, error) {
	u, err := patch(ctx, c, manifest, metav1.PatchOptions{FieldManager: manager, Force: new(true)})
	return u, errors.Wrapf(err, "cannot apply %s %q", manifest.GetKind(), manifest.GetName())
}

// DryRun returns the resource as the server would hold it after Apply, its defaults included, and changes nothing. The
// server asks for the rights that Apply needs. A resource that does not exist has another UID in each answer. Errors
// repeat no value of a Secret.
func DryRun(ctx context.Context, c dynamic.ResourceInterface, manifest *unstructured.Unstructured,
	manager string,
) (*unstructured.Unstructured, error) {
	u, err := patch(ctx, c, manifest,
		metav1.PatchOptions{FieldManager: manager, Force: new(true), DryRun: []string{metav1.DryRunAll}})
	return u, errors.Wrapf(err, "cannot apply %s %q", manifest.GetKind(), manifest.GetName())
}

func patch(
	ctx context.Context, c dynamic.ResourceInterface, manifest *unstructured.Unstructured, o metav1.PatchOptions,
) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(manifest.Object)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode manifest")
	}
	u, err := c.Patch(ctx, manifest.GetName(), types.ApplyPatchType, body, o)
	return u, privateOf(manifest).clean(err)
}

// Create creates a resource, and fails if there is one of its name: server-side apply would change that one. Errors
// repeat no value of a Secret.
func Create(ctx context.Context, c dynamic.ResourceInterface, manifest *unstructured.Unstructured,
	manager string,
) (*unstructured.Unstructured, error) {
	u, err := c.Create(ctx, manifest, metav1.CreateOptions{FieldManager: manager})
	return u, errors.Wrapf(privateOf(manifest).clean(err), "cannot create %s %q", manifest.GetKind(),
		manifest.GetName())
}

// Update applies a manifest to a resource of a UID. The server answers with an error if there is none of its name, or
// one of another UID: server-side apply would create it otherwise.
func Update(ctx context.Context, c dynamic.ResourceInterface, manifest *unstructured.Unstructured,
	t Target,
) (*unstructured.Unstructured, error) {
	exact := manifest.DeepCopy()
	exact.SetUID(t.UID)
	return Apply(ctx, c, exact, t.Manager)
}

// Withdraw takes back what a manager has applied to a resource of a UID: fields that nobody else owns are removed, the
// others only lose this owner. It is an Update with a manifest without fields.
func Withdraw(ctx context.Context, c dynamic.ResourceInterface, live *unstructured.Unstructured, manager string) error {
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(live.GroupVersionKind())
	bare.SetNamespace(live.GetNamespace())
	bare.SetName(live.GetName())
	_, err := Update(ctx, c, bare, Target{UID: live.GetUID(), Manager: manager})
	return err
}

// Manages reports whether a manager owns fields of a resource, by whichever operation.
func Manages(live *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(live.GetManagedFields(),
		func(f metav1.ManagedFieldsEntry) bool { return f.Manager == manager })
}

// Target says which resource is meant, and who applies.
type Target struct {
	// UID the resource must have.
	UID types.UID
	// Manager is the field manager.
	Manager string
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

// Delete requests the deletion of a resource. The server answers with a conflict if a resource of that name has another
// UID.
func Delete(ctx context.Context, c dynamic.ResourceInterface, d Deletion) error {
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &d.UID}}
	if d.Propagation != "" {
		o.PropagationPolicy = &d.Propagation
	}
	return errors.Wrapf(c.Delete(ctx, d.Name, o), "cannot delete %q", d.Name)
}
