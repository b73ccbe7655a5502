package object

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// errInvalidManifest is the cause of errors that only a change of the manifest can cure.
var errInvalidManifest = targetresource.Because(commonv1.ReasonInvalidManifest, "manifest is invalid")

// manifest returns what an Object wants on its target, with the values its references lead to. Nothing of it is ever
// written back to the Object.
func manifest(o Object, refs *reference.Resolution) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	err := u.UnmarshalJSON(o.Desired().ForProvider.Manifest.Raw)
	if runtime.IsMissingKind(err) { // The error repeats the manifest, which may be a Secret.
		return nil, errors.Wrap(errInvalidManifest, "spec.forProvider.manifest.kind is not set")
	}
	if err != nil {
		return nil, errors.Wrapf(errInvalidManifest, "cannot parse spec.forProvider.manifest: %v", err)
	}
	if err := refs.Apply(u.Object); err != nil {
		return nil, errors.Wrap(err, "cannot write the values of references into the manifest")
	}
	if u.GetAPIVersion() == "" {
		return nil, errors.Wrap(errInvalidManifest, "spec.forProvider.manifest.apiVersion is not set")
	}
	if u.IsList() {
		return nil, errors.Wrap(errInvalidManifest, "spec.forProvider.manifest is a list: use an Object for each item")
	}
	for _, path := range [][]string{
		{"metadata"}, {"metadata", "name"}, {"metadata", "namespace"}, {"metadata", "labels"},
	} {
		if v, found, _ := unstructured.NestedFieldNoCopy(u.Object, path...); found && v == nil {
			unstructured.RemoveNestedField(u.Object, path...) // What is null is not set.
		}
	}
	for _, field := range []string{"name", "namespace"} {
		if _, _, err := unstructured.NestedString(u.Object, "metadata", field); err != nil {
			return nil, errors.Wrapf(errInvalidManifest, "spec.forProvider.manifest.metadata.%s is not a string", field)
		}
	}
	if u.GetName() == "" {
		u.SetName(o.GetName())
	}
	if manages(o) {
		return u, label(u)
	}
	return u, nil
}

// ignored returns the fields that an Object leaves to others.
func ignored(o Object) (apply.Ignored, error) {
	all := apply.Ignored{Label: commonv1.LabelKeyManaged}
	for i, f := range o.Desired().ForProvider.IgnoreFields {
		segments, err := fieldpath.Parse(f.FieldPath)
		if err != nil {
			return all, errors.Wrapf(errInvalidManifest, "cannot parse spec.forProvider.ignoreFields[%d].fieldPath: %v", i, err)
		}
		var path []string
		for _, s := range segments {
			path = append(path, cmp.Or(s.Field, strconv.FormatUint(uint64(s.Index), 10)))
		}
		all.Paths = append(all.Paths, path)
	}
	return all, nil
}

// label marks a resource for the watches.
func label(u *unstructured.Unstructured) error {
	err := unstructured.SetNestedField(u.Object, commonv1.LabelValueManaged, "metadata", "labels",
		commonv1.LabelKeyManaged)
	if err != nil {
		return errors.Wrap(errInvalidManifest, "spec.forProvider.manifest.metadata.labels is not an object")
	}
	return nil
}

// fit fits a manifest to how the target serves its kind.
func fit(u *unstructured.Unstructured, m clusters.Mapping) error {
	if !m.Readable {
		return errors.Wrapf(errInvalidManifest, "kind %s cannot be read, so an Object cannot manage it", u.GetKind())
	}
	if m.Namespaced && u.GetNamespace() == "" {
		return errors.Wrapf(errInvalidManifest,
			"spec.forProvider.manifest.metadata.namespace is not set, and kind %s is namespaced", u.GetKind())
	}
	if !m.Namespaced {
		u.SetNamespace("")
	}
	return nil
}

// identity returns what identifies the resource that an Object last saw, nil if it has seen none.
func identity(o Object) *unstructured.Unstructured {
	seen := &metav1.PartialObjectMetadata{}
	if decode(o.Observed().Manifest.Raw, seen) != nil || seen.GetUID() == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(seen.GroupVersionKind())
	u.SetNamespace(seen.GetNamespace())
	u.SetName(seen.GetName())
	u.SetUID(seen.GetUID())
	return u
}

// fieldManagerMax is the length of the longest field manager that API servers accept.
const fieldManagerMax = 128

// fieldManager returns the field manager of an Object that is alone with its resource.
func fieldManager(o Object) string { return managerNamed(o.GetName()) }

// ownFieldManager returns the field manager of an Object that meets another of its name on a resource. No name contains
// the sign that sets off the namespace, which is empty for Objects of the cluster scope.
func ownFieldManager(o Object) string { return managerNamed(o.GetName() + "@" + o.GetNamespace()) }

// managerNamed returns the field manager of a name. The end of a name that is too long gives way to a hash of the name.
func managerNamed(name string) string {
	m := commonv1.FieldManagerPrefix + name
	if len(m) <= fieldManagerMax {
		return m
	}
	sum := sha256.Sum256([]byte(name))
	hash := "-" + hex.EncodeToString(sum[:8])
	return m[:fieldManagerMax-len(hash)] + hash
}

// An Object of either scope.
type Object interface {
	resource.Managed
	// Desired returns the desired state, never nil.
	Desired() *commonv1.ObjectSpec
	// Observed returns what was last seen on the target, never nil.
	Observed() *commonv1.ObjectObservation
	// ConnectionSecret returns the namespace and name of the connection secret, empty if there is to be none.
	ConnectionSecret() types.NamespacedName
	// RemoveCondition removes the condition of a type, if there is one.
	RemoveCondition(t xpv2.ConditionType)
}

// AppliedByClient reports whether the status of an Object shows a resource that provider-kubernetes has applied
// client-side, so that its fields change their manager when the Object is taken over.
func AppliedByClient(o Object) bool { return mayApply(o) && appliedByClient(o) }

// seenUID returns the UID of the resource that an Object last saw, empty if it has seen none.
func seenUID(o Object) types.UID {
	if id := identity(o); id != nil {
		return id.GetUID()
	}
	return ""
}
