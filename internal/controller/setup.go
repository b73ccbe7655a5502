// Package controller sets up all controllers of the provider.
package controller

import (
	"context"

	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/controller/collection"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/providerconfig"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/publishedresource"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/remote"
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
	cluster, namespaced := scope.ClusterObject(local), scope.NamespacedObject(local)
	o.Claims, o.Load = object.NewClaims(), &object.Load{}
	o.References = reference.NewResolver(reference.Options{
		Cluster: o.Registry.Local(), Cache: mgr.GetCache(), Wake: o.Registry.WakeOwner, CrossNamespace: o.AllowCrossNamespaceReferences,
		Sanitized: o.SanitizeSecrets, Kinds: []reference.Kind{kind(cluster), kind(namespaced)},
	})
	if err := o.References.Index(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return errors.Wrap(err, "cannot index Objects")
	}
	if err := setupObjects(mgr, o, scope.ClusterObject); err != nil {
		return errors.Wrap(err, "cannot set up cluster-scoped Objects")
	}
	if err := setupObjects(mgr, o, scope.NamespacedObject); err != nil {
		return errors.Wrap(err, "cannot set up namespaced Objects")
	}
	co := remote.Options{Options: o.Options, Registry: o.Registry, PollJitter: o.PollJitter}
	if err := collection.Setup(mgr, co, scope.ClusterCollection(local)); err != nil {
		return errors.Wrap(err, "cannot set up cluster-scoped collections")
	}
	if err := collection.Setup(mgr, co, scope.NamespacedCollection(local)); err != nil {
		return errors.Wrap(err, "cannot set up namespaced collections")
	}
	po := publishedresource.Options{Options: o.Options, Registry: o.Registry, PollJitter: o.PollJitter}
	if err := publishedresource.Setup(mgr, po); err != nil {
		return errors.Wrap(err, "cannot set up PublishedResources")
	}
	return setupWorkloads(mgr, o)
}

// setupObjects adds the controllers of Objects of one scope.
func setupObjects[T object.Object](mgr ctrl.Manager, o object.Options, kindOf func(client.Client) scope.Kind[T]) error {
	if err := object.Setup(mgr, o, kindOf(mgr.GetClient())); err != nil {
		return err
	}
	return object.SetupUsage(mgr, o, kindOf(object.Paced(mgr.GetClient(), o.Load)))
}

// kind returns a kind of Objects as package reference reads it.
func kind[T object.Object](k scope.Kind[T]) reference.Kind {
	return reference.Kind{
		GVK: k.GVK, Namespaced: k.Namespaced,
		New:     func() reference.Object { return k.New() },
		NewList: func() client.ObjectList { return k.NewList() },
	}
}
