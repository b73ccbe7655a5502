package collection

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/subreconciler"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// passTimeout bounds the steps of a pass. The first of a collection of some thousand members writes them all.
const passTimeout = 5 * time.Minute

// A Reconciler keeps the members of collections of one scope.
type Reconciler[T Collection] struct {
	targetresource.Base[T]

	kind scope.CollectionKind[T]
}

// A pass is what one reconcile learns. Nothing outlives it.
type pass[T Collection] struct {
	collection T
	before     client.Object // as the server last gave it
	owner      informer.Owner
	cluster    *clusters.Cluster
	selected   []resourceID
	template   template
	hash       string // of spec.objectTemplate
	plan       plan
	taken      []string // names of members that other Objects have
}

// A step is a part of a pass, and the reason of the event if it fails.
type step[T Collection] = subreconciler.Step[*pass[T]]

// Reconcile reconciles one collection. Its members go by garbage collection when it is deleted.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return r.Begin(ctx, req.NamespacedName, r.forget, r.pass)
}

func (r *Reconciler[T]) forget(n types.NamespacedName) { r.Registry.Forget(r.Owner(n)) }

func (r *Reconciler[T]) pass(ctx context.Context, c T) (res reconcile.Result, rerr error) {
	n := client.ObjectKeyFromObject(c)
	if meta.WasDeleted(c) {
		r.forget(n)
		return reconcile.Result{}, nil
	}
	p := &pass[T]{collection: c, owner: r.Owner(n)}
	p.before, _ = c.DeepCopyObject().(client.Object)
	defer func() { res, rerr = r.report(ctx, p, rerr) }()
	return reconcile.Result{}, r.run(ctx, p,
		step[T]{Failed: reasonCannotConnect, Do: r.connect},
		step[T]{Failed: reasonCannotSelect, Do: r.selectResources},
		step[T]{Failed: reasonCannotCompare, Do: r.compare},
		step[T]{Failed: reasonCannotDelete, Do: r.prune},
		step[T]{Failed: reasonCannotApply, Do: r.apply})
}

// run takes the steps of a pass until one fails.
func (r *Reconciler[T]) run(ctx context.Context, p *pass[T], do ...step[T]) error {
	record := func(e event.Event) { r.Events.Event(p.collection, e) }
	return subreconciler.Run(ctx, subreconciler.Options{Timeout: passTimeout, Record: record}, p, do...)
}

// report writes the status if it has changed, and says when to look again. Conflicts pass without a word: they mean
// that something was not seen yet.
func (r *Reconciler[T]) report(ctx context.Context, p *pass[T], err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{}, err
	}
	describe(p, err)
	if err := managedadapter.Save(ctx, r.Local, p.before, p.collection); err != nil {
		return reconcile.Result{}, err
	}
	return targetresource.Next(r.Poll, err, 0)
}

// describe puts into the status what a pass has found.
func describe[T Collection](p *pass[T], err error) {
	setCondition(p.collection, targetresource.Synced(p.collection, err))
	status := p.collection.Observed()
	status.MembershipLabel = membership(p.collection)
	if err == nil {
		setCondition(p.collection, xpv2.Available())
		status.TemplateHash, status.Members = p.hash, int64(len(p.selected))
		status.ObservedGeneration = p.collection.GetGeneration()
	}
}
