package object

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/slot"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// Options of the controllers of Objects, beside those all have that connect to targets.
type Options struct {
	targetresource.Options

	// SanitizeSecrets keeps the data of Secrets out of status.
	SanitizeSecrets bool
	// AllowCrossNamespaceReferences lets namespaced Objects refer to what is not in their namespace.
	AllowCrossNamespaceReferences bool
	// References follows the references of Objects of both scopes. Setup of package controller makes it.
	References *reference.Resolver
	// RemoveManagedFields keeps managed fields out of status.
	RemoveManagedFields bool

	// PublishedResourceSelector selects the PublishedResources that are reconciled, nil for all. StateNamespace is
	// where their states are, and PublishedResourceConfig the ProviderConfig they use, if they do not say.
	PublishedResourceSelector labels.Selector
	StateNamespace            string
	PublishedResourceConfig   string
	// LegacyFieldManagers are the field managers, beside those provider-kubernetes is known to use, whose client-side
	// applied fields are ours.
	LegacyFieldManagers []string
	// List returns the Objects of both scopes that options select. They are shared and must not be changed.
	List func(context.Context, ...client.ListOption) ([]client.Object, error)
}

// Setup adds the controller of Objects of one scope to a manager.
func Setup[T Object](mgr ctrl.Manager, o Options, k scope.Kind[T]) error {
	base, b := targetresource.NewBase(mgr, o.Options, k, "managed")
	base.Events = base.Events.Limited(isOutageEvent)
	c := &reconciler[T]{Base: base, options: o, writes: managedadapter.NewCoalescer()}
	opts := []managed.ReconcilerOption{
		managed.WithExternalConnector(c), managed.WithInitializers(c), managed.WithReferenceResolver(c),
		managed.WithFinalizer(c), managed.WithRecorder(c.Events),
		managed.WithPollIntervalHook(func(mg resource.Managed, interval time.Duration) time.Duration {
			p := managedadapter.Poll{Interval: interval, Jitter: o.PollJitter}
			if !isReady(mg) {
				return p.Waiting()
			}
			return p.Settled()
		}),
	}
	if o.ChangeLogOptions != nil {
		opts = append(opts, managed.WithChangeLogger(discreetLogger{next: o.ChangeLogOptions.ChangeLogger}))
	}
	c.managed = managedadapter.NewReconciler(c.Manager, o.Options.Options, k.GVK, opts...)
	err := b.Watches(k.New(), c.earlyHandler(), builder.WithPredicates(handlers.InSlot(o.Registry, predicate.Funcs{}))).
		Watches(k.New(), o.References.Handler(k.GVK)).
		WatchesRawSource(handlers.Targets(o.Registry, c.Controller, 0)).
		Complete(c)
	return errors.Wrapf(err, "cannot set up controller %s", c.Controller)
}

const reasonCannotRecordUse event.Reason = "CannotRecordProviderConfigUse"

// SetupUsage adds the controller that records which ProviderConfig each Object of one scope uses. It writes one record
// at a time: records can wait, Objects cannot. Objects that must not use it do not keep it from being deleted.
func SetupUsage[T Object](mgr ctrl.Manager, opts Options, k scope.Kind[T]) error {
	name := "usage/" + k.GVK.GroupKind().String()
	events := event.NewAPIRecorder(mgr.GetEventRecorderFor(name), opts.EventFilterFunctions...)
	record := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		o := k.New()
		if err := mgr.GetClient().Get(ctx, req.NamespacedName, o); err != nil {
			return reconcile.Result{}, errors.Wrap(client.IgnoreNotFound(err), "cannot get Object")
		}
		// A record cannot be made again in a namespace that is going away:
		// https://github.com/crossplane/crossplane-runtime/issues/1113 Until the old resource of an Object that has
		// moved is dealt with, its record keeps the old ProviderConfig.
		if meta.WasDeleted(o) || moved(k, o) || !handlers.Responsible(opts.Registry, o) {
			return reconcile.Result{}, nil
		}
		by := informer.Owner{
			Controller: managed.ControllerName(k.GVK.GroupKind().String()), NamespacedName: req.NamespacedName,
		}
		err := targetresource.Admit(ctx, opts.Registry, by, targetresource.ConfigOf(k, o))
		if clusters.IsNamespaceNotAllowed(err) {
			return reconcile.Result{}, nil // Its condition changes when it may.
		}
		if err == nil {
			err = k.Track(ctx, o)
		}
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return reconcile.Result{}, nil // All Objects in it are about to be deleted.
		}
		if err != nil && !apierrors.IsConflict(err) {
			events.Event(o, event.Warning(reasonCannotRecordUse, err))
		}
		return reconcile.Result{}, err
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(ctrlcontroller.Options{MaxConcurrentReconciles: 1}).
		For(k.New(), builder.WithPredicates(handlers.InSlot(opts.Registry, usageChanged(k)))).
		Complete(managedadapter.Reconciler(reconcile.Func(record)))
	return errors.Wrapf(err, "cannot set up controller %s", name)
}

// usageChanged matches Objects that are new, use another ProviderConfig than before, or may use it now.
func usageChanged[T Object](k scope.Kind[T]) predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
			was, okWas := e.ObjectOld.(T)
			is, okIs := e.ObjectNew.(T)
			return okWas && okIs && (k.Ref(was) != k.Ref(is) || moved(k, was) != moved(k, is) ||
				notAllowed(was) != notAllowed(is))
		},
		DeleteFunc: func(ctrlevent.DeleteEvent) bool { return false },
	}
}

// notAllowed reports whether an Object says that it must not use its ProviderConfig.
func notAllowed(o Object) bool {
	return o.GetCondition(xpv2.TypeSynced).Reason == commonv1.ReasonNamespaceNotAllowed
}

// moved reports whether an Object refers to another ProviderConfig than it has last seen its resource through.
func moved[T Object](k scope.Kind[T], o T) bool {
	last := o.Observed().ProviderConfigReference
	return last != nil && *last != k.Ref(o)
}

// InSlots returns how a cache holds Objects where replicas share the work: those of other slots without manifests, and
// of their resources what identifies them. It must not be filled before this replica has its slot.
func InSlots(s *slot.Slots) map[client.Object]cache.ByObject {
	if s == nil {
		return nil
	}
	strip := cache.TransformStripManagedFields()
	shorten := func(obj any) (any, error) {
		if o, ok := obj.(Object); ok && !s.Responsible(scope.Holder(o)) {
			seen, id := o.Observed(), identity(o)
			o.Desired().ForProvider.Manifest.Raw, seen.Manifest.Raw, seen.Diff = nil, nil, nil
			if id != nil {
				seen.Manifest.Raw, _ = id.MarshalJSON() // It has been read from JSON.
			}
		}
		return strip(obj)
	}
	return map[client.Object]cache.ByObject{
		&objectv1alpha2.Object{}: {Transform: shorten}, &mobjectv1alpha1.Object{}: {Transform: shorten},
	}
}

// handOver leaves an Object to the slot of the ProviderConfig that it has moved to, once this one has dealt with its
// resource. If the other ProviderConfig leads to the same resource, that goes along.
func (e *external) handOver(o Object) {
	e.retry = 50 * time.Millisecond // Then it may have a claim to give up.
	o.Observed().ProviderConfigReference = nil
	if identity(o) != nil {
		o.Observed().ProviderConfigReference = new(e.config)
	}
}

// missingClaim returns the claim that an Object needs before its resource is written to, empty if it needs none:
// replicas share the work, and nothing that the control plane has tells in which slot the resource is. One that is
// handed over is claimed there, when this slot has let it go.
func (c *reconciler[T]) missingClaim(ctx context.Context, obj client.Object) string {
	known, ok := reconciliationOf(ctx).Last().(Object)
	slots, key := c.Registry.Slots(), c.Kind.Key(obj.(T)) //nolint:forcetypeassert // The reconciler is of this kind only.
	if slots != nil && slots.Responsible(key) && ok && known.Observed().ProviderConfigReference == nil &&
		known.GetAnnotations()[commonv1.AnnotationKeyClaim] != key {
		return key
	}
	return ""
}

// passOn reports whether an Object is left to another slot. If it refers to a ProviderConfig there by now, its claim is
// taken off first: nothing is under way for it, and its status shows no resource.
func (c *reconciler[T]) passOn(ctx context.Context, n types.NamespacedName) (bool, error) {
	if c.Registry.Slots() == nil {
		return false, nil
	}
	o := c.Kind.New()
	if err := c.Manager.GetCache().Get(ctx, n, o, client.UnsafeDisableDeepCopy); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if !handlers.Responsible(c.Registry, o) {
		c.forget(n)
		return true, nil
	}
	claim := o.GetAnnotations()[commonv1.AnnotationKeyClaim]
	if o.Observed().ProviderConfigReference != nil || claim == "" || claim == c.Kind.Key(o) {
		return false, nil
	}
	err := managedadapter.PatchMetadata(ctx, c.Local, copyOf(o), func(o client.Object) {
		meta.RemoveAnnotations(o, commonv1.AnnotationKeyClaim)
	})
	return true, errors.Wrap(client.IgnoreNotFound(err), "cannot release the Object to another shard")
}
