package apply

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// A Client writes resources of one kind as a field manager. Its errors repeat no value of a Secret.
type Client struct {
	// Resources are those of the kind, in the namespace of what is written.
	Resources dynamic.ResourceInterface
	// Manager is the field manager.
	Manager string
	// SecretFields are the fields of the manifest, as data.key, that hold content of a Secret.
	SecretFields []string
}

// Apply applies a manifest by server-side apply, taking over fields of other managers that it sets. It returns the
// resource as the server holds it then.
func (c Client) Apply(ctx context.Context, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.apply(ctx, manifest, metav1.PatchOptions{Force: new(true)})
}

// DryRun returns the resource as the server would hold it after Apply, its defaults included, and changes nothing. The
// server asks for the rights that Apply needs. A resource that does not exist has another UID in each answer.
func (c Client) DryRun(ctx context.Context, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.apply(ctx, manifest, metav1.PatchOptions{Force: new(true), DryRun: []string{metav1.DryRunAll}})
}

func (c Client) apply(ctx context.Context, manifest *unstructured.Unstructured,
	o metav1.PatchOptions,
) (*unstructured.Unstructured, error) {
	o.FieldManager = c.Manager
	u, err := c.Resources.Patch(ctx, manifest.GetName(), types.ApplyPatchType, encode(manifest.Object), o)
	return u, errors.Wrapf(c.clean(manifest, err), "cannot apply %s %q", manifest.GetKind(), manifest.GetName())
}

// Create creates a resource, and fails if there is one of its name: server-side apply would change that one.
func (c Client) Create(ctx context.Context, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u, err := c.Resources.Create(ctx, manifest, metav1.CreateOptions{FieldManager: c.Manager})
	return u, errors.Wrapf(c.clean(manifest, err), "cannot create %s %q", manifest.GetKind(), manifest.GetName())
}

// Update applies a manifest to the resource of a UID. The server answers with an error if there is none of its name, or
// one of another UID: server-side apply would create it otherwise.
func (c Client) Update(ctx context.Context, manifest *unstructured.Unstructured,
	uid types.UID,
) (*unstructured.Unstructured, error) {
	exact := manifest.DeepCopy()
	exact.SetUID(uid)
	return c.Apply(ctx, exact)
}

// Withdraw takes back what the manager has applied to a resource: fields that nobody else owns are removed, the others
// only lose this owner. It is an Update with a manifest without fields.
func (c Client) Withdraw(ctx context.Context, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(live.GroupVersionKind())
	bare.SetNamespace(live.GetNamespace())
	bare.SetName(live.GetName())
	return c.Update(ctx, bare, live.GetUID())
}

// Introduce applies a manifest whose resource does not exist. The answer is a conflict if somebody makes the resource
// at this moment with other values. A creation by POST was rejected, although the server would refuse any then: the
// creator of a resource owns its defaults too, and would later fight over them.
func (c Client) Introduce(ctx context.Context,
	manifest *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	return c.apply(ctx, manifest, metav1.PatchOptions{})
}

// Manages reports whether a manager owns fields of a resource, by whichever operation.
func Manages(live *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(live.GetManagedFields(),
		func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager })
}

// ofServer are the fields of metadata that only a server sets.
var ofServer = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion", "selfLink", "uid",
}

// Prepare makes of a manifest, in place, what is applied of it, so that each apply, hash and preview sees the same.
// What a server moves is where the server has it. What only a server sets is left out, as of a manifest that was copied
// from a live resource, and the status with it. It returns the paths of what is left out.
func Prepare(manifest *unstructured.Unstructured) (leftOut []string) {
	encodeStringData(manifest)
	metadata, _ := manifest.Object["metadata"].(map[string]any)
	for _, field := range ofServer {
		if metadata[field] != nil {
			leftOut = append(leftOut, "metadata."+field)
		}
		delete(metadata, field) // kubectl create --dry-run prints a creationTimestamp that is null.
	}
	if _, ok := manifest.Object["status"]; ok && len(leftOut) > 0 {
		delete(manifest.Object, "status")
		leftOut = append(leftOut, "status")
	}
	return leftOut
}

// encodeStringData does to a Secret what a server does: stringData becomes data. What is no text is left for the server
// to refuse.
func encodeStringData(u *unstructured.Unstructured) {
	if !isSecret(u.Object) {
		return
	}
	plain, ok := u.Object["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, _ := u.Object["data"].(map[string]any)
	data, rest := maps.Clone(data), map[string]any{}
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range plain {
		text, ok := v.(string)
		if !ok && v != nil {
			rest[k] = v
			continue
		}
		data[k] = base64.StdEncoding.EncodeToString([]byte(text)) // What is null is empty to a server.
	}
	for field, content := range map[string]map[string]any{"data": data, "stringData": rest} {
		if delete(u.Object, field); len(content) > 0 {
			u.Object[field] = content
		}
	}
}
