package collection

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// purposeSelection are the resources a collection selects.
const purposeSelection informer.Purpose = "selection"

// ownGroups are those of Objects.
var ownGroups = []string{objectv1alpha2.GroupVersion.Group, mobjectv1alpha1.GroupVersion.Group}

// connect finds the target, and records the use of the ProviderConfig unless the collection must not use it.
func (r *Reconciler[T]) connect(ctx context.Context, p *pass[T]) (err error) {
	p.cluster, err = targetresource.Connect(ctx, r.Registry, p.owner,
		targetresource.ConfigOf(r.kind.Kind, p.collection))
	if clusters.IsNamespaceNotAllowed(err) || apierrors.IsConflict(err) {
		return err
	}
	if err := r.kind.Track(ctx, p.collection); err != nil {
		return targetresource.OfControlPlane(err)
	}
	return err
}

// selectResources finds the resources on the target that the collection selects.
func (r *Reconciler[T]) selectResources(ctx context.Context, p *pass[T]) error {
	of := p.collection.Desired().ObserveObjects
	gvk, selector, err := parse(of)
	if err != nil {
		return err
	}
	if gvk.Kind == commonv1.ObjectKind && slices.Contains(ownGroups, gvk.Group) {
		// There would be no end of members of members.
		selector = strings.TrimPrefix(selector+",!"+commonv1.LabelKeyCollection, ",")
	}
	names, err := namesOn(ctx, p.cluster, p.owner, gvk, informer.WatchRequest{
		NamespacedName: types.NamespacedName{Namespace: of.Namespace}, Stream: informer.StreamNames, Selector: selector,
	})
	if err != nil {
		return targetresource.Awaited(err) // Streams tell when what a target has denied is allowed.
	}
	p.selected = make([]resourceID, 0, len(names))
	for _, n := range names {
		p.selected = append(p.selected, resourceID{GroupVersionKind: gvk, NamespacedName: n})
	}
	return nil
}

// parse returns which kind a collection selects, and by which label selector. Equal selectors are written alike.
func parse(of commonv1.ObserveObjects) (schema.GroupVersionKind, string, error) {
	gv, err := schema.ParseGroupVersion(of.APIVersion)
	if err != nil {
		return schema.GroupVersionKind{}, "", errors.Wrapf(errInvalidSelection, "cannot parse apiVersion: %v", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&of.Selector)
	if err != nil {
		return schema.GroupVersionKind{}, "", errors.Wrapf(errInvalidSelection, "cannot parse selector: %v", err)
	}
	return gv.WithKind(of.Kind), selector.String(), nil
}

// namesOn returns the names of the resources of a kind on a cluster that a watch request selects. Its resource is
// filled in.
func namesOn(ctx context.Context, c *clusters.Cluster, o informer.Owner, gvk schema.GroupVersionKind,
	i informer.WatchRequest,
) ([]types.NamespacedName, error) {
	defer c.Watches().Done(o, purposeSelection)
	m, err := c.Mapping(ctx, gvk)
	if err != nil {
		return nil, errors.Wrap(err, "cannot find kind of spec.observeObjects")
	}
	if !m.Watchable {
		return nil, errors.Wrapf(errInvalidSelection, "target cannot watch kind %s", gvk.Kind)
	}
	i.Resource = m.Resource
	if !m.Namespaced {
		i.Namespace = ""
	}
	names, err := c.Watches().Names(ctx, o, purposeSelection, i)
	if !clusters.IsUnserved(err) {
		return names, errors.Wrapf(err, "cannot select resources of kind %s", gvk.Kind)
	}
	// The kind may have gone since it was found. If it has, somebody looks for it from now on.
	c.InvalidateMapping(gvk)
	if _, gone := c.Mapping(ctx, gvk); gone != nil {
		return nil, errors.Wrap(gone, "cannot find kind of spec.observeObjects")
	}
	return nil, errors.Wrapf(err, "cannot select resources of kind %s", gvk.Kind)
}

// compare finds out what has to be written.
func (r *Reconciler[T]) compare(ctx context.Context, p *pass[T]) error {
	held, err := r.members(ctx, p)
	if err != nil {
		return err
	}
	p.hash = apply.Hash(p.collection.Desired().Template)
	p.template = templateOf(p.collection, r.kind.GVK)
	p.template.gvk, p.template.ref = r.kind.Member, scope.ConfigRef(p.collection)
	p.template.renew = p.collection.Observed().TemplateHash != p.hash
	p.plan = planFor(assign(p.collection.GetName(), p.selected, held), held, p.template)
	return r.dropTakenNames(ctx, p)
}

// members returns the members there are, by name.
func (r *Reconciler[T]) members(ctx context.Context, p *pass[T]) (map[string]member, error) {
	list := r.kind.NewMembers()
	err := r.Local.List(ctx, list, client.InNamespace(p.owner.Namespace),
		client.MatchingFields{indexCollection: p.owner.Name})
	if err != nil {
		return nil, targetresource.OfControlPlane(errors.Wrap(err, "cannot list members"))
	}
	held := map[string]member{}
	_ = apimeta.EachListItem(list, func(item runtime.Object) error { // It never fails.
		m := memberOf(item.(object), p.collection.GetUID()) //nolint:forcetypeassert // The list is one of Objects.
		if m.owned || m.labels[commonv1.LabelKeyCollection] == p.owner.Name {
			held[m.name] = m
		}
		return nil
	})
	return held, nil
}

// dropTakenNames takes from the plan the members whose names other Objects have.
func (r *Reconciler[T]) dropTakenNames(ctx context.Context, p *pass[T]) error {
	kept := p.plan.apply[:0]
	for _, a := range p.plan.apply {
		if a.uid != "" {
			kept = append(kept, a)
			continue
		}
		err := r.Local.Get(ctx, types.NamespacedName{Namespace: p.owner.Namespace, Name: a.name}, r.kind.NewMember(),
			client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
			kept = append(kept, a)
		case err != nil:
			return targetresource.OfControlPlane(errors.Wrapf(err, "cannot get Object %q", a.name))
		default:
			p.taken = append(p.taken, a.name)
		}
	}
	p.plan.apply = kept
	return nil
}

// prune deletes members whose resources are not selected any more.
func (r *Reconciler[T]) prune(ctx context.Context, p *pass[T]) error {
	gone := p.plan.prune
	return inTurn(len(gone), func(i int) error { return r.deleteMember(ctx, p, gone[i]) })
}

// apply applies the members that are missing or not as they should be.
func (r *Reconciler[T]) apply(ctx context.Context, p *pass[T]) error {
	todo := p.plan.apply
	if err := inTurn(len(todo), func(i int) error { return r.applyMember(ctx, p, todo[i]) }); err != nil {
		return err
	}
	if len(todo)+len(p.plan.prune) > 0 {
		// What is not shown by then is written once more.
		_ = wait.PollUntilContextTimeout(ctx, gather, lag, true, func(ctx context.Context) (bool, error) {
			held, err := r.members(ctx, p)
			return err == nil && p.plan.isShownBy(held, p.template), nil
		})
	}
	if len(p.taken) > 0 {
		slices.Sort(p.taken)
		return errors.Wrap(errNameTaken,
			"Objects that do not belong to the collection have the names of its members: "+strings.Join(p.taken, ", "))
	}
	return nil
}

const (
	// writers is how many members of one collection are written at a time.
	writers = 10
	// lag is for how long a pass waits for the cache to show what it has written. A cache that is later than that may
	// never show it, because somebody has undone it meanwhile.
	lag = 5 * time.Second
)

// applyMember applies a member.
func (r *Reconciler[T]) applyMember(ctx context.Context, p *pass[T], a application) error {
	u := p.template.apply(a.name, a.uid, a.resource)
	opts := []client.ApplyOption{client.FieldOwner(commonv1.FieldManagerCollection)}
	if a.uid != "" {
		opts = append(opts, client.ForceOwnership)
	}
	err := r.Local.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), opts...)
	switch {
	case apierrors.IsInvalid(err):
		return errors.Wrapf(errInvalidTemplate, "cannot apply Object %q: %v", a.name, err)
	case err != nil:
		return targetresource.OfControlPlane(errors.Wrapf(err, "cannot apply Object %q", a.name))
	}
	return nil
}

// deleteMember deletes the very member there is, and no successor. That it is gone is no error.
func (r *Reconciler[T]) deleteMember(ctx context.Context, p *pass[T], m member) error {
	o := r.kind.NewMember()
	o.SetNamespace(p.collection.GetNamespace())
	o.SetName(m.name)
	err := r.Local.Delete(ctx, o, client.Preconditions{UID: &m.uid})
	if err != nil && !apierrors.IsNotFound(err) {
		return targetresource.OfControlPlane(errors.Wrapf(err, "cannot delete Object %q", m.name))
	}
	return nil
}

// inTurn calls do for each number below count, some at a time, until one has failed. It returns the error of the lowest
// number: while the same ones fail, it is always the same.
func inTurn(count int, do func(i int) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	errs := make([]error, count)
	workqueue.ParallelizeUntil(ctx, writers, count, func(i int) {
		if errs[i] = do(i); errs[i] != nil {
			cancel()
		}
	})
	return cmp.Or(errs...)
}
