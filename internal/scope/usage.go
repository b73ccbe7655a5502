package scope

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
)

// usageOf returns the record that a resource of a kind uses the ProviderConfig of a name, as crossplane-runtime makes
// it for managed resources. It goes with its user, as its controller. Records of a namespaced kind are in the namespace
// of their user, or in that called default if it has none.
func usageOf(c Config, user client.Object, gvk schema.GroupVersionKind, name string) client.Object {
	u := c.NewUsage()
	ref := meta.TypedReferenceTo(user, gvk)
	used := xpv2.TypedReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name}
	labels := map[string]string{xpv2.LabelKeyProviderName: name}
	switch u := u.(type) {
	case *pcv1alpha1.ProviderConfigUsage:
		u.ResourceReference, u.ProviderConfigReference = used, xpv2.Reference{Name: name}
	case *mpcv1alpha1.ProviderConfigUsage:
		kind := c.Kinds.Config.Kind
		labels[xpv2.LabelKeyProviderKind] = kind
		u.ResourceReference, u.ProviderConfigReference = used, xpv2.ProviderConfigReference{Kind: kind, Name: name}
		u.SetNamespace(metav1.NamespaceDefault)
	}
	if user.GetNamespace() != "" {
		u.SetNamespace(user.GetNamespace())
	}
	u.SetName(string(user.GetUID()))
	u.SetLabels(labels)
	u.SetOwnerReferences([]metav1.OwnerReference{meta.AsController(ref)})
	return u
}

// track writes a record of use, unless it is there and names the same ProviderConfig. That it exists is no error: the
// cache of records may be a moment behind our own creation of it.
// See https://github.com/crossplane-contrib/provider-upjet-gcp/issues/1002.
func track(ctx context.Context, c client.Client, usage client.Object) error {
	names := func(o client.Object, key string) bool { return o.GetLabels()[key] == usage.GetLabels()[key] }
	err := resource.NewAPIUpdatingApplicator(c).Apply(ctx, usage,
		resource.MustBeControllableBy(metav1.GetControllerOf(usage).UID),
		resource.AllowUpdateIf(func(current, _ runtime.Object) bool {
			was, ok := current.(client.Object)
			return ok && (!names(was, xpv2.LabelKeyProviderName) || !names(was, xpv2.LabelKeyProviderKind))
		}))
	if resource.IsNotAllowed(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	if s := (&apierrors.StatusError{}); errors.As(err, &s) &&
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		s.ErrStatus.Reason = metav1.StatusReasonConflict // The user is about to be deleted: nobody needs to hear of it.
	}
	return errors.Wrap(err, "cannot write the ProviderConfigUsage")
}
