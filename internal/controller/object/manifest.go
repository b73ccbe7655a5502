package object

import (
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

var (
	// errInvalidManifest is the cause of errors that only a change of the manifest can cure.
	errInvalidManifest = errors.New("manifest is invalid")
	// errUnsupported is the cause of errors about fields whose behaviour does not exist yet.
	errUnsupported = errors.New("not supported yet")
	// errControlPlane is the cause of errors that the control plane has made, not the target.
	errControlPlane = errors.New("control plane refuses")
)

// manifest returns what an Object wants on its target. Nothing of it is ever written back to the Object.
func manifest(o Object) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(o.Desired().ForProvider.Manifest.Raw); err != nil {
		return nil, errors.Wrapf(errInvalidManifest, "cannot parse spec.forProvider.manifest: %v", err)
	}
	if u.GetAPIVersion() == "" {
		return nil, errors.Wrap(errInvalidManifest, "spec.forProvider.manifest.apiVersion is not set")
	}
	if u.IsList() {
		return nil, errors.Wrap(errInvalidManifest, "spec.forProvider.manifest is a list: use an Object for each item")
	}
	if u.GetName() == "" {
		u.SetName(o.GetName())
	}
	if policy.Owns(o.GetManagementPolicies()) {
		label(u)
	}
	return u, nil
}

// name returns the namespace and name of a resource.
func name(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// label marks a resource for the watches.
func label(u *unstructured.Unstructured) {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[commonv1.LabelKeyManaged] = commonv1.LabelValueManaged
	u.SetLabels(labels)
}

// place fits a manifest to how the target serves its kind.
func place(u *unstructured.Unstructured, m target.Mapping) error {
	if m.Namespaced && u.GetNamespace() == "" {
		return errors.Wrapf(errInvalidManifest,
			"spec.forProvider.manifest.metadata.namespace is not set, and kind %s is namespaced", u.GetKind())
	}
	if !m.Namespaced {
		u.SetNamespace("")
	}
	return nil
}

// unsupported returns an error that names the first field whose behaviour does not exist yet.
func unsupported(spec *commonv1.ObjectSpec) error {
	switch {
	case len(spec.References) > 0:
		return errors.Wrap(errUnsupported, "spec.references")
	case len(spec.ConnectionDetails) > 0:
		return errors.Wrap(errUnsupported, "spec.connectionDetails")
	case spec.Readiness.Policy == commonv1.ReadinessDeriveFromCelQuery:
		return errors.Wrapf(errUnsupported, "spec.readiness.policy %s", spec.Readiness.Policy)
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
