package objectsync

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// patch sends a JSON merge patch.
func patch(ctx context.Context, w Writer, o Ref, body map[string]any, subresources ...string) error {
	b, err := json.Marshal(body)
	if err != nil {
		return errors.Errorf("cannot encode patch of %s", o)
	}
	return errors.Wrapf(w.Patch(ctx, o, b, subresources...), "cannot patch %s", o)
}

func nameOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// HasFinalizer reports whether our finalizer is on an object of a workspace.
func HasFinalizer(u *unstructured.Unstructured) bool {
	return slices.Contains(u.GetFinalizers(), Finalizer)
}

// hold puts our finalizer on an object of the workspace, if it is not there. The patch fails if the list has changed
// meanwhile. A finalizer that does not stay is a refusal: without it the copy would outlive the object.
func (p *pass) hold(ctx context.Context, o Ref, u *unstructured.Unstructured) error {
	if HasFinalizer(u) {
		return nil
	}
	if err := p.setFinalizers(ctx, o, u, append(slices.Clone(u.GetFinalizers()), Finalizer)); err != nil {
		return err
	}
	if now, err := p.get(p.Workspace.Side, o); err != nil || now != nil && !HasFinalizer(now) {
		return cmp.Or(err, error(&RefusalError{
			Workspace: true, Resource: o.GVR().GroupResource(),
			err: errors.Errorf("the workspace takes the finalizer of the provider off %s again, as webhooks do", o),
		}))
	}
	if u == p.source {
		p.tell(ReasonAccepted, "The provider of the service has accepted the object")
	}
	return nil
}

// letGo takes our finalizer off an object of the workspace.
func (p *pass) letGo(ctx context.Context, o Ref, u *unstructured.Unstructured) error {
	if !HasFinalizer(u) {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(u.GetFinalizers()), func(f string) bool { return f == Finalizer })
	err := p.setFinalizers(ctx, o, u, rest)
	if isMissing(err, o.Name) {
		return nil
	}
	return err
}

// missing returns what a server that has not found something says of that, nil if an error means something else.
func missing(err error) *metav1.StatusDetails {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return nil
	}
	return status.Status().Details
}

// isMissing reports whether an error means that the server has no object of a name. It is false if something else is
// missing that a write needs, such as a namespace.
func isMissing(err error, name string) bool {
	d := missing(err)
	return d != nil && d.Name == name
}

func (p *pass) setFinalizers(ctx context.Context, o Ref, u *unstructured.Unstructured, list []string) error {
	return patch(ctx, p.Workspace.Writer, o, map[string]any{"metadata": map[string]any{
		"finalizers": list, "resourceVersion": u.GetResourceVersion(), "uid": string(u.GetUID()),
	}})
}

// create creates an object, and its namespace if that is missing: as configured on the service cluster, without
// anything in a workspace.
func (p *pass) create(ctx context.Context, side Side, r Resource, u *unstructured.Unstructured) error {
	err := side.Writer.Create(ctx, r.GroupVersionResource, u)
	if d := missing(err); d == nil || d.Kind != Namespaces.Resource || u.GetNamespace() == "" {
		return err
	}
	t := p.namespaces
	if side.Writer == p.Workspace.Writer {
		t = namespaceTemplate{}
	}
	ns, err := t.make(u.GetNamespace(), p.id.Cluster, p.Workspace.Path)
	if err != nil {
		return err
	}
	if err := side.Writer.Create(ctx, Namespaces, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return errors.Wrapf(err, "cannot create namespace %q", u.GetNamespace())
	}
	return side.Writer.Create(ctx, r.GroupVersionResource, u)
}

// get returns an object, nil if it is not there. What the service cluster does not serve is not there.
func (p *pass) get(side Side, o Ref) (*unstructured.Unstructured, error) {
	u, err := side.Cache(o.GVR()).Get(o.NamespacedName())
	if apierrors.IsNotFound(err) && side.Writer == p.Service.Writer {
		return nil, nil //nolint:nilnil // So is none told.
	}
	return u, err
}

// remove deletes an object that is there, and reports whether it is gone. What it finds in deletion it waits for.
func (p *pass) remove(ctx context.Context, side Side, o Ref) (gone bool, err error) {
	u, err := p.get(side, o)
	if err != nil || u == nil {
		return u == nil, err
	}
	if u.GetDeletionTimestamp() == nil {
		err := side.Writer.Delete(ctx, o, u.GetUID())
		if err != nil && !apierrors.IsNotFound(err) {
			return false, errors.Wrapf(err, "cannot delete %s", o)
		}
		if u, err = p.get(side, o); err != nil || u == nil {
			return u == nil, err
		}
	}
	p.result.Waiting = "the deletion of " + o.String()
	return false, nil
}

func (p *pass) stateName() types.NamespacedName {
	if p.formerState.Name != "" {
		return p.formerState
	}
	return p.StateOf(p.me())
}

func (p *pass) stateRef() Ref {
	n := p.stateName()
	return Ref{
		Version: Secrets.Version, Resource: Secrets.Resource, Kind: "Secret", Namespace: n.Namespace, Name: n.Name,
	}
}

// save writes a state if the Secret has another, or does not tell whose it is, and the copy does from now on. Where the
// copy is goes with it, once all is known that may be found by marks until then; where it is about to be made is
// written before.
func (p *pass) save(ctx context.Context, next state) error {
	moves := next.copy.namespacedName() != p.stored.copy.namespacedName()
	if p.secret && !moves && next.equal(p.stored) && (p.marked || !p.updated) {
		return nil
	}
	if p.copied != nil && p.whole {
		next.copy = place{Namespace: p.copied.GetNamespace(), Name: p.copied.GetName(), UID: p.copied.GetUID()}
	}
	secret, err := next.secret(p.stateName(), p.id.Labels())
	if err != nil {
		return err
	}
	secret.SetAnnotations(map[string]string{AnnotationPublication: p.id.Publication})
	write := p.makeState
	if p.secret {
		write = p.patchState
	}
	if err := write(ctx, secret); err != nil {
		return errors.Wrap(err, "cannot write the Secret with the state of the object")
	}
	p.secret, p.marked, p.stored, p.state.copy = true, true, next.clone(), next.copy
	return nil
}

// makeState creates the Secret of a state. One that is there and is no state is not made one, as nobody knows who has
// put into it what.
func (p *pass) makeState(ctx context.Context, secret *unstructured.Unstructured) error {
	err := p.Service.Writer.Create(ctx, Secrets, secret)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found, err := p.Service.Writer.Live(ctx, p.stateRef())
	if err != nil {
		return err
	}
	if !p.Owns(found) {
		return p.notOurs()
	}
	return p.patchState(ctx, secret)
}

// notOurs is the error that the Secret where the state is to be is not a state of this owner.
func (p *pass) notOurs() error {
	return errors.Wrapf(ErrForeign, "Secret %s is to hold the state of the object", p.stateName())
}

// patchState writes the values that differ from those the Secret has.
func (p *pass) patchState(ctx context.Context, secret *unstructured.Unstructured) error {
	was, err := p.stored.data()
	if err != nil {
		was = nil // It is too large, and all values are written.
	}
	is, _, _ := unstructured.NestedMap(secret.Object, "data")
	body := map[string]any{"data": diff(was, is)}
	if !p.marked {
		body["metadata"] = map[string]any{"labels": secret.GetLabels(), "annotations": secret.GetAnnotations()}
	}
	return patch(ctx, p.Service.Writer, p.stateRef(), body)
}
