package object

import (
	"encoding/json"

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
	_, managed, _ := unstructured.NestedFieldNoCopy(was, "metadata", "managedFields")
	unwanted := opts.RemoveManagedFields && managed
	if err == nil && !unwanted && obs.OmittedBytes == 0 && equality.Semantic.DeepEqual(essence(was), essence(seen)) {
		return nil
	}
	raw, err := json.Marshal(seen)
	if err != nil {
		return errors.Wrap(err, "cannot encode resource")
	}
	if stays, err := staysOmitted(o, live, seen); err != nil || stays {
		return err
	}
	obs.Manifest, obs.OmittedBytes = runtime.RawExtension{Raw: raw}, 0
	if !fits(o) {
		return omit(o)
	}
	return nil
}

// present returns the content of a resource as the status is to show it. It shares nothing with the resource.
func present(live *unstructured.Unstructured, o Options) map[string]any {
	seen := live.DeepCopy()
	if o.RemoveManagedFields {
		seen.SetManagedFields(nil)
	}
	if o.SanitizeSecrets && diff.IsSecret(seen.Object) {
		hideValues(seen.Object)
	}
	return seen.Object
}

// essence returns the content of a resource without what each write changes.
func essence(content map[string]any) map[string]any {
	content = runtime.DeepCopyJSON(content)
	unstructured.RemoveNestedField(content, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(content, "metadata", "managedFields")
	return content
}

// remember records what was applied.
func (e *remote) remember(o Object) error {
	wanted, err := apply.Hash(e.Manifest.Object)
	if err != nil {
		return errors.Wrap(err, "cannot record manifest")
	}
	held, err := apply.HashOwned(e.live, e.Manifest, e.manager)
	if err != nil {
		return errors.Wrap(err, "cannot record resource")
	}
	o.Observed().Applied = &commonv1.AppliedRecord{ManifestHash: wanted, FieldsHash: held}
	if e.manager != fieldManager(o) {
		o.Observed().Applied.FieldManager = e.manager
	}
	return nil
}

// decode decodes JSON the way unstructured resources are: whole numbers are int64.
func decode(raw []byte, into any) error {
	return errors.Wrap(utiljson.Unmarshal(raw, into), "cannot decode")
}

// fits reports whether the control plane can be expected to store an Object, by what is large in one.
func fits(o Object) bool {
	size := len(o.Desired().ForProvider.Manifest.Raw) + len(o.Observed().Manifest.Raw)
	for k, v := range o.GetAnnotations() {
		size += len(k) + len(v)
	}
	for _, f := range o.GetManagedFields() {
		if f.FieldsV1 != nil {
			size += len(f.FieldsV1.GetRawBytes())
		}
	}
	return size <= managedadapter.FitsMost
}

// omit leaves all of the resource out of the status but what identifies it. Conditions and the record of what was
// applied matter more.
func omit(o Object) error {
	content, id := map[string]any{}, identity(o)
	if id == nil {
		return errors.New("cannot leave out a resource without a UID")
	}
	if err := decode(o.Observed().Manifest.Raw, &content); err != nil {
		return err
	}
	size, err := sizeOf(content)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(id.Object)
	o.Observed().Manifest, o.Observed().OmittedBytes = runtime.RawExtension{Raw: raw}, size
	return errors.Wrap(err, "cannot encode resource")
}

// staysOmitted reports whether a resource is still left out of the status: it is the same one, and no smaller than when
// it did not fit. Only the control plane knows what fits, so that it is asked again when the resource is smaller, and
// not at each look.
func staysOmitted(o Object, live *unstructured.Unstructured, seen map[string]any) (bool, error) {
	omitted, was := o.Observed().OmittedBytes, identity(o)
	if omitted == 0 || was == nil || was.GetUID() != live.GetUID() ||
		was.GroupVersionKind() != live.GroupVersionKind() {
		return false, nil
	}
	size, err := sizeOf(seen)
	return size >= omitted, err
}

// sizeOf returns the size of a resource in bytes, without what each write changes.
func sizeOf(content map[string]any) (int64, error) {
	b, err := json.Marshal(essence(content))
	return int64(len(b)), errors.Wrap(err, "cannot encode resource")
}

// shrink leaves the resource out of the status of an Object, if it is in there.
func shrink(obj client.Object) bool {
	o := objectOf(obj)
	if o.Observed().OmittedBytes > 0 || len(o.Observed().Manifest.Raw) == 0 {
		return false
	}
	return omit(o) == nil
}

// show gives the live resource to those who refer to the Object, if the status is not to show all of it.
func (e *remote) show(o Object) {
	if !e.options.SanitizeSecrets {
		return
	}
	if !diff.IsSecret(e.live.Object) {
		e.options.References.Hide(e.gvk, e.Owner.NamespacedName)
		return
	}
	all := e.options
	all.SanitizeSecrets = false
	e.options.References.Show(o, e.gvk, present(e.live, all))
}

// hideValues removes the values of a Secret, and the annotation that repeats them.
func hideValues(content map[string]any) {
	content["data"] = map[string]any{"redacted": nil}
	if _, ok := content["stringData"]; ok {
		content["stringData"] = map[string]any{"redacted": nil}
	}
	unstructured.RemoveNestedField(content, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
}
