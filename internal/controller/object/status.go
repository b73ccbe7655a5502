package object

import (
	"encoding/json"
	"maps"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/diff"
)

// record puts the live resource into the status, unless only its resourceVersion and managed fields differ from what is
// there.
func record(o Object, live *unstructured.Unstructured, opts Options) error {
	obs, seen := o.Observed(), present(live, opts)
	was := map[string]any{}
	err := decode(obs.Manifest.Raw, &was)
	unwanted := opts.RemoveManagedFields && hasManagedFields(was)
	if err == nil && !unwanted && obs.OmittedBytes == 0 && equality.Semantic.DeepEqual(essence(was), essence(seen)) {
		return nil
	}
	raw, err := json.Marshal(seen)
	if err != nil {
		return errors.Wrap(err, "cannot encode resource")
	}
	if stays, err := staysOmitted(obs, live, seen); err != nil || stays {
		return err
	}
	obs.Manifest, obs.OmittedBytes = runtime.RawExtension{Raw: raw}, 0
	if !fits(o) {
		return omit(obs)
	}
	return nil
}

// present returns the content of a resource as the status is to show it. Parts are shared with the resource.
func present(live *unstructured.Unstructured, o Options) map[string]any {
	content := maps.Clone(live.Object)
	if o.RemoveManagedFields {
		content = withoutMetadata(content, "managedFields")
	}
	if o.SanitizeSecrets && diff.IsSecret(content) {
		content = withoutValues(content)
	}
	return content
}

func hasManagedFields(content map[string]any) bool {
	_, ok, _ := unstructured.NestedFieldNoCopy(content, "metadata", "managedFields")
	return ok
}

// essence returns the content of a resource without what each write changes.
func essence(content map[string]any) map[string]any {
	return withoutMetadata(content, "resourceVersion", "managedFields")
}

// withoutMetadata returns the content of a resource without some fields of its metadata. Other parts are shared.
func withoutMetadata(content map[string]any, fields ...string) map[string]any {
	m, ok := content["metadata"].(map[string]any)
	if !ok {
		return content
	}
	m = maps.Clone(m)
	for _, f := range fields {
		delete(m, f)
	}
	content = maps.Clone(content)
	content["metadata"] = m
	return content
}

// remember records what was applied.
func (e *external) remember(o Object) error {
	wanted, err := apply.HashManifest(e.manifest)
	if err != nil {
		return errors.Wrap(err, "cannot record manifest")
	}
	held, err := apply.HashOwned(e.live, e.manifest, e.manager)
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
