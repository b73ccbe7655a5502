package e2e_test

import (
	"context"
	"testing"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// wipe removes everything of our kinds from the control plane, finalizers or not, as no provider runs any more.
func wipe(t *testing.T, c client.Client) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, gvk := range []schema.GroupVersionKind{
		workloadv1alpha1.ApplicationGroupVersionKind, workloadv1alpha1.ResourceGroupVersionKind,
		objectv1alpha2.ObjectGroupVersionKind, mobjectv1alpha1.ObjectGroupVersionKind,
		pcv1alpha1.ProviderConfigUsageGroupVersionKind, mpcv1alpha1.ProviderConfigUsageGroupVersionKind,
		pcv1alpha1.ProviderConfigGroupVersionKind, mpcv1alpha1.ProviderConfigGroupVersionKind,
		mpcv1alpha1.ClusterProviderConfigGroupVersionKind,
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := c.List(ctx, list); err != nil {
			t.Error(err)
			continue
		}
		if err := each(len(list.Items), func(i int) error { return remove(ctx, c, &list.Items[i]) }); err != nil {
			t.Error(err)
		}
	}
}

// remove takes the finalizers off an object and deletes it.
func remove(ctx context.Context, c client.Client, o client.Object) error {
	if len(o.GetFinalizers()) > 0 {
		err := c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		if client.IgnoreNotFound(err) != nil {
			return errors.Wrapf(err, "cannot take finalizers off %q", o.GetName())
		}
	}
	return errors.Wrapf(client.IgnoreNotFound(c.Delete(ctx, o)), "cannot delete %q", o.GetName())
}
