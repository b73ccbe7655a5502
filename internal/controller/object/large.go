package object

import (
	"encoding/json"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/diffwrite"
)

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
	return size <= diffwrite.FitsMost
}

// omit leaves all of the resource out of the status but what identifies it. Conditions and the record of what was
// applied matter more.
func omit(obs *commonv1.ObjectObservation) error {
	u := &unstructured.Unstructured{}
	if err := decode(obs.Manifest.Raw, &u.Object); err != nil {
		return err
	}
	size, err := sizeOf(u.Object)
	if err != nil {
		return err
	}
	short := &unstructured.Unstructured{}
	short.SetGroupVersionKind(u.GroupVersionKind())
	short.SetNamespace(u.GetNamespace())
	short.SetName(u.GetName())
	short.SetUID(u.GetUID())
	raw, err := json.Marshal(short.Object)
	obs.Manifest, obs.OmittedBytes = runtime.RawExtension{Raw: raw}, size
	return errors.Wrap(err, "cannot encode resource")
}

// staysOmitted reports whether a resource is still left out of the status: it is the same one, and no smaller than when
// it did not fit. Only the control plane knows what fits, so that it is asked again when the resource is smaller, and
// not at each look.
func staysOmitted(obs *commonv1.ObjectObservation, live *unstructured.Unstructured, seen map[string]any) (bool, error) {
	if obs.OmittedBytes == 0 {
		return false, nil
	}
	was := &unstructured.Unstructured{}
	if err := decode(obs.Manifest.Raw, &was.Object); err != nil {
		return false, err
	}
	size, err := sizeOf(seen)
	same := was.GetUID() == live.GetUID() && was.GroupVersionKind() == live.GroupVersionKind()
	return same && size >= obs.OmittedBytes, err
}

// sizeOf returns the size of a resource in bytes, without what each write changes.
func sizeOf(content map[string]any) (int64, error) {
	b, err := json.Marshal(essence(content))
	return int64(len(b)), errors.Wrap(err, "cannot encode resource")
}

// shrink leaves the resource out of the status of an Object, if it is in there.
func shrink(obj client.Object) bool {
	o, ok := obj.(Object)
	if !ok || o.Observed().OmittedBytes > 0 || len(o.Observed().Manifest.Raw) == 0 {
		return false
	}
	return omit(o.Observed()) == nil
}
