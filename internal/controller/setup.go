// Package controller sets up all controllers of the provider.
package controller

import (
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane-contrib/provider-kcp/internal/controller/collection"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/providerconfig"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// Setup adds every controller, in every scope, to a manager.
func Setup(mgr ctrl.Manager, o object.Options) error {
	local := mgr.GetClient()
	configs := append(scope.NamespacedScopeConfigs(), scope.ClusterScopeConfig())
	for _, c := range configs {
		if err := providerconfig.Setup(mgr, o.Options, c); err != nil {
			return errors.Wrap(err, "cannot set up ProviderConfigs")
		}
	}
	if err := object.Setup(mgr, o, scope.ClusterObject(local)); err != nil {
		return errors.Wrap(err, "cannot set up cluster-scoped Objects")
	}
	if err := object.Setup(mgr, o, scope.NamespacedObject(local)); err != nil {
		return errors.Wrap(err, "cannot set up namespaced Objects")
	}
	co := collection.Options{Options: o.Options, Registry: o.Registry, PollJitter: o.PollJitter}
	if err := collection.Setup(mgr, co, scope.ClusterCollection(local)); err != nil {
		return errors.Wrap(err, "cannot set up cluster-scoped collections")
	}
	return errors.Wrap(collection.Setup(mgr, co, scope.NamespacedCollection(local)), "cannot set up namespaced collections")
}
