package applicationresource

import (
	"cmp"
	"context"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	// purposeSources are the Secrets on the control plane.
	purposeSources informer.Purpose = "secrets"
	// purposeCopyPrefix precedes the name of a Secret in the purpose of its copy.
	purposeCopyPrefix = "secret/"
)

var (
	secretKind     = corev1.SchemeGroupVersion.WithKind("Secret")
	secretResource = corev1.SchemeGroupVersion.WithResource("secrets")
)

// propagate keeps copies of the Secrets that the resource needs, and removes those that it needs no more. Each is dealt
// with, whatever becomes of the others.
func (r *Reconciler) propagate(ctx context.Context, p *pass) error {
	if !p.remote.Mapping.Namespaced && len(p.resource.Spec.Secrets) > 0 {
		return errors.Wrapf(errInvalidTemplate, "spec.secrets needs the namespace of the resource, but %s is cluster-scoped",
			p.remote.Manifest.GetKind())
	}
	if err := r.intend(ctx, p); err != nil {
		return err
	}
	var failed error
	for _, n := range slices.Clone(p.resource.Status.Secrets) {
		do := r.removeCopy
		if slices.Contains(p.resource.Spec.Secrets, workloadv1alpha1.SecretReference{Name: n}) {
			do = r.copy
		}
		if err := do(ctx, p, n); err != nil && failed == nil {
			failed = errors.Wrapf(err, "cannot propagate Secret %q", n)
		}
	}
	r.Registry.Local().Watches().Done(p.owner, purposeSources)
	return failed
}

// intend records the names of Secrets before they are propagated.
func (r *Reconciler) intend(ctx context.Context, p *pass) error {
	all := slices.Clone(p.resource.Status.Secrets)
	for _, s := range p.resource.Spec.Secrets {
		if !slices.Contains(all, s.Name) {
			all = append(all, s.Name)
		}
	}
	if len(all) == len(p.resource.Status.Secrets) {
		return nil
	}
	slices.Sort(all)
	p.resource.Status.Secrets = all
	if err := managedadapter.Save(ctx, r.Local, p.before, p.resource); err != nil {
		return targetresource.OfControlPlane(err)
	}
	p.before = p.resource.DeepCopy()
	return nil
}

// copyOf returns the copy of a Secret: without content, which resource on the cluster it is.
func (r *Reconciler) copyOf(ctx context.Context, p *pass, secret string) (targetresource.Resource, error) {
	m, err := p.cluster.Mapping(ctx, secretKind)
	if err != nil {
		return targetresource.Resource{}, errors.Wrap(err, "cannot find kind Secret")
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(secretKind)
	u.SetNamespace(cmp.Or(p.resource.Spec.Template.Metadata.Namespace, metav1.NamespaceDefault))
	u.SetName(p.resource.GetName() + "-" + secret)
	return r.resourceAt(p, purposeCopyPrefix+informer.Purpose(secret), u, m), nil
}

// copy keeps the copy of a Secret.
func (r *Reconciler) copy(ctx context.Context, p *pass, n string) error {
	source, err := r.Registry.Local().Get(ctx, p.owner, purposeSources, informer.WatchRequest{
		Resource: secretResource, Stream: informer.StreamByName,
		NamespacedName: types.NamespacedName{Namespace: p.resource.GetNamespace(), Name: n},
	})
	if err != nil {
		return targetresource.OfControlPlane(err)
	}
	if source == nil {
		p.missing = append(p.missing, n)
		return nil
	}
	res, err := r.copyOf(ctx, p, n)
	if err != nil {
		return err
	}
	if err := mark(res.Manifest, p.resource); err != nil {
		return err
	}
	if t, ok := source.Object["type"]; ok {
		res.Manifest.Object["type"] = t
	}
	if data, ok := source.Object["data"].(map[string]any); ok && len(data) > 0 {
		res.Manifest.Object["data"] = data
	}
	live, err := res.Find(ctx, res.Labelled()...)
	if err != nil {
		return err
	}
	if err := r.admitLive(ctx, p, res, live); err != nil {
		return err
	}
	if err := targetresource.Leaving(live); err != nil {
		return err
	}
	if live != nil && live.Object["type"] != res.Manifest.Object["type"] {
		_, err := res.Delete(ctx, live, metav1.DeletePropagationBackground) // The type of a Secret cannot be changed.
		return err
	}
	if live != nil {
		current, err := apply.Current(live, res.Manifest, fieldManager(p.resource))
		if err != nil || current {
			p.follow(ctx, res, live)
			return errors.Wrap(err, "cannot compare Secret")
		}
	}
	written, err := r.write(ctx, p, res, live)
	if written != nil {
		r.Events.Event(p.resource, event.Normal(reasonPropagated, "Propagated "+name(written)+" to the cluster"))
	}
	return err
}

// removeCopy deletes the copy of a Secret, and ends what is kept for it when it is gone.
func (r *Reconciler) removeCopy(ctx context.Context, p *pass, n string) error {
	res, err := r.copyOf(ctx, p, n)
	if err != nil {
		return err
	}
	gone, err := r.withdraw(ctx, p, res, reasonWithdrawn)
	if gone {
		p.cluster.Watches().Done(p.owner, res.Purpose)
		p.resource.Status.Secrets = slices.DeleteFunc(p.resource.Status.Secrets, func(s string) bool { return s == n })
	}
	return err
}
