package applicationresource

import (
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// purposeRival is a resource of somebody else that has the name of ours.
const purposeRival informer.Purpose = "rival"

// submit keeps the resource as the template wants it, once all Secrets that it needs are there.
func (r *Reconciler) submit(ctx context.Context, p *pass) error {
	if err := r.look(ctx, p, p.remote); err != nil {
		return err
	}
	if len(p.missing) > 0 && p.resource.Status.Submitted == nil {
		return missingError{names: p.missing}
	}
	if err := r.keep(ctx, p); err != nil {
		return err
	}
	if len(p.missing) > 0 {
		return missingError{names: p.missing}
	}
	return nil
}

// look finds the live resource, and refuses it if it is somebody else's.
func (r *Reconciler) look(ctx context.Context, p *pass, res targetresource.Resource) error {
	live, err := res.Find(ctx, res.Labelled()...)
	if err != nil {
		return err
	}
	p.live, p.looked = nil, true
	if live == nil {
		return nil
	}
	if !controls(p.resource, live) {
		return r.refuse(p, res)
	}
	p.cluster.Watches().Track(p.owner, purposeRival)
	p.live = live
	return nil
}

// refuse leaves a resource to who has it, and watches for its end.
func (r *Reconciler) refuse(p *pass, res targetresource.Resource) error {
	if res.Mapping.Watchable {
		p.cluster.Watches().Track(p.owner, purposeRival,
			informer.Interest{
				Resource: res.Mapping.Resource, NamespacedName: targetresource.Name(res.Manifest),
				Stream: informer.StreamByName,
			})
	}
	return errors.Wrapf(errConflict, "%s exists and is not controlled by KubernetesApplicationResource %s",
		name(res.Manifest), p.resource.GetName())
}

// keep writes the resource if it is not as the template wants it.
func (r *Reconciler) keep(ctx context.Context, p *pass) error {
	wanted := apply.Hash(p.remote.Manifest.Object)
	var err error
	if p.current, err = isCurrent(p, wanted); err != nil || p.current {
		return errors.Wrap(err, "cannot compare resource")
	}
	if was := p.resource.Status.Submitted; was != nil && was.ManifestHash == wanted {
		if wait := r.drift.Wait(p.owner); wait > 0 {
			p.retry = wait
			return nil // Somebody keeps changing it.
		}
	}
	live, err := r.write(ctx, p, p.remote, p.live)
	if err != nil {
		return err
	}
	held, err := apply.HashOwned(live, p.remote.Manifest, fieldManager(p.resource))
	if err != nil {
		return errors.Wrap(err, "cannot record resource")
	}
	p.live, p.current = live, true
	p.resource.Status.Submitted = &workloadv1alpha1.SubmittedRecord{
		UID: live.GetUID(), ManifestHash: wanted, FieldsHash: held,
	}
	r.record.Event(p.resource, event.Normal(reasonSubmitted, "Submitted "+name(live)+" to the cluster"))
	return nil
}

// isCurrent reports whether the live resource is as it was submitted, and that is what is wanted.
func isCurrent(p *pass, wanted string) (bool, error) {
	was := p.resource.Status.Submitted
	if p.live == nil || was == nil || was.ManifestHash != wanted || was.UID != p.live.GetUID() {
		return false, nil
	}
	held, err := apply.HashOwned(p.live, p.remote.Manifest, fieldManager(p.resource))
	return held == was.FieldsHash, err
}

// write applies a resource: the very one that was seen, or a new one. It never touches what is not ours.
func (r *Reconciler) write(ctx context.Context, p *pass, res targetresource.Resource,
	seen *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	c := res.Client(fieldManager(p.resource))
	live, err := res.Write(ctx, func() (*unstructured.Unstructured, error) {
		if seen == nil {
			return c.Introduce(ctx, res.Manifest)
		}
		return c.Update(ctx, res.Manifest, seen.GetUID())
	})
	if errors.Is(err, apply.ErrTaken) {
		return nil, r.refuse(p, res)
	}
	return live, err
}

// name names a resource in messages.
func name(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s", u.GetKind(), targetresource.Name(u))
}
