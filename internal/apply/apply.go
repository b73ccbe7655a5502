package apply

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
// from a live resource, and the status with it, and the rules of a ClusterRole that the server collects from others: a
// list of them, even an empty one, would take these away.
func Prepare(manifest *unstructured.Unstructured) {
	encodeStringData(manifest)
	if manifest.GetKind() == "ClusterRole" && manifest.Object["aggregationRule"] != nil &&
		strings.HasPrefix(manifest.GetAPIVersion(), "rbac.authorization.k8s.io/") {
		delete(manifest.Object, "rules")
	}
	metadata, _ := manifest.Object["metadata"].(map[string]any)
	for _, field := range ofServer {
		if metadata[field] != nil { // kubectl create --dry-run prints a creationTimestamp that is null.
			delete(manifest.Object, "status")
		}
		delete(metadata, field)
	}
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

// pointer is an address in the memory of the server, which is another in each answer.
var pointer = regexp.MustCompile(`\(?0x[0-9a-f]{6,}\)?`)

// clean returns an answer to a manifest without what is of no use to a reader and, if there is content of a Secret in
// the manifest, without the words of the server.
func (c Client) clean(manifest *unstructured.Unstructured, err error) error {
	var answer apierrors.APIStatus
	switch {
	case runtime.IsMissingKind(err), runtime.IsMissingVersion(err):
		return errors.New("the response of the server is not a resource") // The error repeats it.
	case isSecret(manifest.Object), len(c.SecretFields) > 0:
		return HideSecret(err, manifest.Object, c.SecretFields...)
	case !errors.As(err, &answer):
		return err
	}
	s := answer.Status()
	s.Message = pointer.ReplaceAllString(s.Message, "(pointer)")
	return &apierrors.StatusError{ErrStatus: s}
}

func isSecret(content map[string]any) bool {
	return content["apiVersion"] == "v1" && content["kind"] == "Secret"
}

// IsQuotaExceeded reports whether a server has refused to write a resource because a ResourceQuota has no room for it.
// Only the text tells that from a denied right, which names the user: that may be called anything.
func IsQuotaExceeded(err error) bool {
	return apierrors.IsForbidden(err) && !strings.Contains(err.Error(), `is forbidden: User "`) &&
		strings.Contains(err.Error(), "exceeded quota")
}

// IsKindTerminating reports whether a server has refused to create a custom resource because its
// CustomResourceDefinition is being deleted. Only the text distinguishes that from a denied right.
func IsKindTerminating(err error) bool {
	return apierrors.IsForbidden(err) && strings.HasSuffix(err.Error(), "custom resource definition is terminating")
}

// HideSecret returns an answer to a write without the words of the server, which may repeat a value of a Secret, or
// what the server has made of one. Left are its reason and the fields that it is about, as far as they are in what was
// sent: content is that, nil if it is not known, and secretFields are those that hold content of Secrets.
func HideSecret(err error, content map[string]any, secretFields ...string) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return err
	}
	s := answer.Status()
	fields := append(unreadable(content), secretFields...)
	if s.Reason == metav1.StatusReasonUnknown && len(fields) > len(secretFields) ||
		strings.HasPrefix(s.Message, "failed to create typed patch object") { // The server does not say so.
		s.Reason, s.Code = metav1.StatusReasonBadRequest, http.StatusBadRequest
	}
	if s.Details != nil {
		d := *s.Details
		d.Causes = slices.Clone(d.Causes)
		for i, c := range d.Causes {
			if field := known(content, c.Field); field != "" {
				fields = append(fields, field)
			}
			d.Causes[i].Message = ""
		}
		s.Details = &d
	}
	s.Message = fmt.Sprintf("the server responds with reason %s%s; its message is omitted, because it may repeat "+
		"values of Secrets", s.Reason, withoutValues(s))
	if slices.Sort(fields); len(fields) > 0 {
		s.Message += ": " + strings.Join(slices.Compact(fields), ", ")
	}
	return &apierrors.StatusError{ErrStatus: s}
}

// withoutValues returns what we know of an answer beyond its reason.
func withoutValues(s metav1.Status) string {
	err := &apierrors.StatusError{ErrStatus: s}
	switch {
	case IsQuotaExceeded(err):
		return " (exceeded quota)"
	case IsImmutable(err):
		return " (a field is immutable)"
	case apierrors.IsForbidden(err) && strings.Contains(s.Message, `is forbidden: User "`):
		return " (the user lacks the permission)"
	case apierrors.IsNotFound(err) && s.Details != nil && s.Details.Kind == "namespaces":
		return " (the namespace does not exist)"
	}
	return ""
}

// unreadable returns what is wrong with the values of a Secret, whatever a server says of them.
func unreadable(content map[string]any) (said []string) {
	if !isSecret(content) {
		return nil
	}
	data, _ := content["data"].(map[string]any)
	for k, v := range data {
		text, ok := v.(string)
		if _, err := base64.StdEncoding.DecodeString(text); !ok && v != nil || err != nil {
			said = append(said, fieldpath.Segments{fieldpath.Field("data"), fieldpath.Field(k)}.String()+" is not base64")
		}
	}
	plain, _ := content["stringData"].(map[string]any)
	for k := range plain { // Prepare has made data of each that is a string.
		said = append(said, fieldpath.Segments{fieldpath.Field("stringData"), fieldpath.Field(k)}.String()+" is not a string")
	}
	return said
}

// known returns the name of a field as far as it is in a manifest: servers and webhooks name what they like.
func known(content map[string]any, field string) string {
	at, err := fieldpath.Parse(field)
	for ; err == nil && len(at) > 0; at = at[:len(at)-1] {
		if _, err := fieldpath.Pave(content).GetValue(at.String()); err == nil {
			return at.String()
		}
	}
	return ""
}
