// Package controller sets up all controllers of the provider.
package controller

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	syncagentv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/application"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/applicationresource"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/collection"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/providerconfig"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/publishedresource"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// Setup adds every controller, in every scope, to a manager. The controllers of kinds that the control plane does not
// serve yet are added when it does. The log has a line for each condition that fails, and for each that fails no more.
//
// Where replicas share the work, controllers are added when this one has its slot. Before that nobody knows which
// Objects its cache must hold as a whole.
func Setup(mgr ctrl.Manager, o object.Options, log logging.Logger) error {
	if o.Registry.Slots() == nil {
		return setup(mgr, o, log)
	}
	return errors.Wrap(mgr.Add(manager.RunnableFunc(func(context.Context) error {
		return setup(mgr, o, log)
	})), "cannot wait for a shard")
}

func setup(mgr ctrl.Manager, o object.Options, log logging.Logger) error {
	local := mgr.GetClient()
	cluster, namespaced := scope.ClusterObject(local), scope.NamespacedObject(local)
	owned := func(obj client.Object) bool { return handlers.Responsible(o.Registry, obj) }
	o.References = reference.NewResolver(reference.Options{
		Cluster: o.Registry.Local(), Cache: mgr.GetCache(), Owned: owned, Wake: o.Registry.WakeOwner,
		CrossNamespace: o.AllowCrossNamespaceReferences,
		Sanitized:      o.SanitizeSecrets, Kinds: []reference.Kind{kind(cluster), kind(namespaced)},
	})
	o.List = o.References.List
	var parts []part
	for _, c := range append(scope.NamespacedScopeConfigs(), scope.ClusterScopeConfig()) {
		parts = append(parts, part{kinds: configKinds(c), setup: func() error {
			return errors.Wrap(providerconfig.Setup(mgr, o.Options, c), "cannot set up ProviderConfigs")
		}})
	}
	s := &starter{manager: mgr, log: log, owned: owned, count: func(k schema.GroupVersionKind) error {
		return managedadapter.AddStateMetrics(mgr, o.Options.Options, k, owned)
	}}
	return s.start(append(parts,
		published(mgr, o),
		objects(mgr, o, cluster),
		objects(mgr, o, namespaced),
		collections(mgr, o, scope.ClusterCollection(local)),
		collections(mgr, o, scope.NamespacedCollection(local)),
		workloads(mgr, o),
	))
}

// objects are the controllers of Objects of one scope.
func objects[T object.Object](mgr ctrl.Manager, o object.Options, k scope.Kind[T]) part {
	return part{kinds: append(configKinds(k.Configs...), k.GVK), count: kinds{k.GVK}, index: func() error {
		return errors.Wrap(o.References.Serve(context.Background(), mgr.GetFieldIndexer(), k.GVK.GroupKind()),
			"cannot set up references")
	}, setup: func() error {
		if err := object.Setup(mgr, o, k); err != nil {
			return errors.Wrap(err, "cannot set up Objects")
		}
		return errors.Wrap(object.SetupUsage(mgr, o, k), "cannot set up ProviderConfigUsages")
	}}
}

// collections are the controller of collections of one scope.
func collections[T collection.Collection](mgr ctrl.Manager, o object.Options, k scope.CollectionKind[T]) part {
	return part{kinds: append(configKinds(k.Configs...), k.GVK, k.Member), count: kinds{k.GVK}, setup: func() error {
		return errors.Wrap(collection.Setup(mgr, o.OfFew(), k), "cannot set up collections")
	}}
}

// published are the controller of PublishedResources.
func published(mgr ctrl.Manager, o object.Options) part {
	kind := syncagentv1alpha1.PublishedResourceGroupVersionKind
	return part{kinds: append(configKinds(scope.PublisherConfig()), kind), count: kinds{kind}, setup: func() error {
		return errors.Wrap(publishedresource.Setup(mgr, publishedresource.Options{
			Options: o.Options, Selector: o.PublishedResourceSelector, StateNamespace: o.StateNamespace,
			DefaultConfig: o.PublishedResourceConfig,
		}), "cannot set up PublishedResources")
	}}
}

// workloads are the controllers of KubernetesApplications and of their resources.
func workloads(mgr ctrl.Manager, o object.Options) part {
	own := kinds{workloadv1alpha1.ApplicationGroupVersionKind, workloadv1alpha1.ResourceGroupVersionKind}
	return part{kinds: append(configKinds(scope.NamespacedScopeConfigs()...), own...), count: own, setup: func() error {
		if err := application.Setup(mgr, o.OfFew()); err != nil {
			return errors.Wrap(err, "cannot set up applications")
		}
		return errors.Wrap(applicationresource.Setup(mgr, o.Options), "cannot set up resources of applications")
	}}
}

// configKinds returns the kinds of ProviderConfigs and of the records of their use.
func configKinds(configs ...scope.Config) (all kinds) {
	for _, c := range configs {
		all = append(all, c.Kinds.Config, c.Kinds.Usage)
	}
	return all
}

// kind returns a kind of Objects as package reference reads it.
func kind[T object.Object](k scope.Kind[T]) reference.Kind {
	return reference.Kind{
		GVK: k.GVK, Namespaced: k.Configs[0].Namespaced, NewList: k.NewList,
		New: func() reference.Object { return k.New() },
	}
}
