package object

import (
	"context"
	"encoding/json"
	"maps"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/diff"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
)

// record puts the live resource into the status, unless only its resourceVersion and managed fields differ from what is
// there.
func record(o Object, live *unstructured.Unstructured, opts Options) error {
	obs, seen, was := o.Observed(), present(live, opts), map[string]any{}
	err := decode(obs.Manifest.Raw, &was)
	known, shown, _ := unstructured.NestedFieldNoCopy(was, "metadata", "managedFields")
	unwanted := opts.RemoveManagedFields && shown
	if shown && !unwanted && obs.Applied != nil && len(live.GetManagedFields()) == 0 && seenUID(o) == live.GetUID() {
		seen = withoutMetadata(seen, "managedFields")
		seen["metadata"].(map[string]any)["managedFields"] = known //nolint:forcetypeassert // It has a UID.
	}
	if err == nil && !unwanted && obs.OmittedBytes == 0 && equality.Semantic.DeepEqual(essence(was), essence(seen)) {
		return nil
	}
	raw := encode(seen)
	if staysOmitted(o, live, int64(len(raw))) {
		return nil
	}
	obs.Manifest, obs.OmittedBytes = runtime.RawExtension{Raw: raw}, 0
	if len(encode(o)) > managedadapter.FitsMost && !shrink(o) {
		return errors.New("the resource is too large for the status, and has no UID that could identify it there")
	}
	return nil
}

// present returns the content of a resource as the status is to show it. Parts are shared with the resource, which may
// be large, and is looked at often.
func present(live *unstructured.Unstructured, o Options) map[string]any {
	content := live.Object
	if o.SanitizeSecrets && diff.IsSecret(content) {
		content = runtime.DeepCopyJSON(content)
		hideValues(content)
	}
	if o.RemoveManagedFields {
		content = withoutMetadata(content, "managedFields")
	}
	return content
}

// essence returns the content of a resource without what each write changes. Parts are shared.
func essence(content map[string]any) map[string]any {
	return withoutMetadata(content, "resourceVersion", "managedFields")
}

// withoutMetadata returns the content of a resource without some fields of its metadata. Other parts are shared.
func withoutMetadata(content map[string]any, fields ...string) map[string]any {
	m, ok := content["metadata"].(map[string]any)
	if !ok {
		return content
	}
	m, content = maps.Clone(m), maps.Clone(content)
	for _, f := range fields {
		delete(m, f)
	}
	content["metadata"] = m
	return content
}

// remember records what was applied.
func (e *remote) remember(o Object) error {
	held, err := apply.HashOwned(e.live, e.Manifest, e.manager, e.ignored)
	if err != nil {
		return errors.Wrap(err, "cannot record the resource in the status")
	}
	o.Observed().Applied = &commonv1.AppliedRecord{ManifestHash: apply.Hash(e.Manifest.Object), FieldsHash: held}
	if e.manager != fieldManager(o) {
		o.Observed().Applied.FieldManager = e.manager
	}
	return nil
}

// decode decodes JSON the way unstructured resources are: whole numbers are int64.
func decode(raw []byte, into any) error {
	return errors.Wrap(utiljson.Unmarshal(raw, into), "cannot read status.atProvider.manifest")
}

// encode returns the JSON of a value that comes from JSON.
func encode(v any) []byte {
	b, _ := json.Marshal(v) //nolint:errchkjson // What comes from JSON can be encoded.
	return b
}

// shrink leaves all of the resource out of the status but what identifies it, if it is in there. Conditions and the
// record of what was applied matter more.
func shrink(obj client.Object) bool {
	obs, id := objectOf(obj).Observed(), identity(objectOf(obj))
	if obs.OmittedBytes > 0 || id == nil {
		return false
	}
	obs.OmittedBytes = int64(len(obs.Manifest.Raw))
	obs.Manifest.Raw = encode(id.Object)
	return true
}

// staysOmitted reports whether a resource is still left out of the status: it is the same one, and no smaller than when
// it did not fit. Only the control plane knows what fits, so that it is asked again when the resource is smaller, and
// not at each look.
func staysOmitted(o Object, live *unstructured.Unstructured, size int64) bool {
	omitted, was := o.Observed().OmittedBytes, identity(o)
	return omitted > 0 && size >= omitted && was != nil && was.GetUID() == live.GetUID() &&
		was.GroupVersionKind() == live.GroupVersionKind()
}

// hideValues removes the values of a Secret, and the annotation that repeats them.
func hideValues(content map[string]any) {
	content["data"] = map[string]any{"redacted": nil}
	if _, ok := content["stringData"]; ok {
		content["stringData"] = map[string]any{"redacted": nil}
	}
	unstructured.RemoveNestedField(content, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
}

// A discreetLogger keeps values of Secrets out of the change logs, to which each change sends the whole Object.
type discreetLogger struct{ next managed.ChangeLogger }

// Log sends a change to the change logs, with the values of Secrets masked.
func (l discreetLogger) Log(
	ctx context.Context, mg resource.Managed, op changelogs.OperationType, changed error, d managed.AdditionalDetails,
) error {
	snapshot := copyOf(mg)
	meta.RemoveAnnotations(snapshot, corev1.LastAppliedConfigAnnotation) // It repeats the manifest.
	for _, raw := range []*runtime.RawExtension{
		&snapshot.Desired().ForProvider.Manifest, &snapshot.Observed().Manifest,
	} {
		if err := maskSecret(raw); err != nil {
			return err
		}
	}
	return errors.Wrap(l.next.Log(ctx, snapshot, op, changed, d), "cannot write the change log")
}

// maskSecret masks the values of a manifest if it is one of a Secret, or is none that can be read.
func maskSecret(raw *runtime.RawExtension) error {
	content := map[string]any{}
	if len(raw.Raw) > 0 && decode(raw.Raw, &content) != nil {
		return errors.New("cannot decode manifest for the change logs")
	}
	if diff.IsSecret(content) {
		hideValues(content)
		raw.Raw = encode(content)
	}
	return nil
}
