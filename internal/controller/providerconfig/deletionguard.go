package providerconfig

import (
	"context"
	"fmt"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/providerconfig"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// users counts the resources that refer to a ProviderConfig and carry our finalizer, which anybody may have written:
// they may have something left to do on its target. Records of use do not tell in a namespace that is going away, as
// nothing keeps them from going first. Of the resources in a namespace that must not use the ProviderConfig only those
// count that have.
func (r *reconciler) users(ctx context.Context, pc resource.ProviderConfig) (int64, error) {
	key, idle := client.ObjectKeyFromObject(pc), map[string]int64{} // by namespace
	var n int64
	for _, u := range r.config.Users {
		list := u.NewList()
		err := r.client.List(ctx, list, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy)
		if none := (&apimeta.NoKindMatchError{}); errors.As(err, &none) {
			// A bare 404 has the client say so, too. What the control plane lists as not served refers to nothing.
			if _, served, ferr := r.registry.Local().Find(ctx, none.GroupKind); ferr == nil && !served {
				continue
			}
		}
		if err != nil {
			return 0, errors.Wrap(err, "cannot list users of ProviderConfig")
		}
		_ = apimeta.EachListItem(list, func(item runtime.Object) error { // It never fails.
			o := item.(client.Object) //nolint:forcetypeassert // The list is one of such.
			switch {
			case !meta.FinalizerExists(o, u.Finalizer) || !slices.Contains(r.config.Refs(o), key):
			case scope.HasUsed(o):
				n++
			default:
				idle[o.GetNamespace()]++
			}
			return nil
		})
	}
	for namespace, users := range idle {
		err := r.admit(ctx, pc, namespace)
		switch {
		case err == nil:
			n += users
		case !clusters.IsNamespaceNotAllowed(err):
			return 0, errors.Wrapf(err, "cannot find out whether namespace %q may use ProviderConfig", namespace)
		}
	}
	return n, nil
}

// admit returns the error of clusters.Registry.Admit for a namespace.
func (r *reconciler) admit(ctx context.Context, pc resource.ProviderConfig, namespace string) error {
	asking := informer.Owner{Controller: "users of ProviderConfigs", NamespacedName: types.NamespacedName{
		Namespace: namespace, Name: r.config.Key(pc),
	}}
	defer r.registry.Local().Watches().Forget(asking)
	return r.registry.Admit(ctx, asking, r.config.Connection(pc))
}

// hold says on a ProviderConfig for how many users it stays.
func (r *reconciler) hold(ctx context.Context, pc resource.ProviderConfig, users int64) error {
	c := providerconfig.Terminating().WithMessage(
		fmt.Sprintf("%d resources use the ProviderConfig: delete them, or let them use another", users))
	if pc.GetUsers() == users && pc.GetCondition(c.Type).Equal(c) {
		return nil
	}
	pc.SetUsers(users)
	pc.SetConditions(c)
	return errors.Wrap(resource.IgnoreNotFound(r.client.Status().Update(ctx, pc)),
		"cannot update status of ProviderConfig")
}
