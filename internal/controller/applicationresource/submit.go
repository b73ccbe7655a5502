package applicationresource

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// purposeTemplate is the resource of the template.
const purposeTemplate informer.Purpose = "template"

// resourceAt returns a resource on the cluster, put where that keeps resources of its kind: those of a namespaced kind
// in a namespace, others in none.
func (r *Reconciler) resourceAt(p *pass, purpose informer.Purpose, u *unstructured.Unstructured,
	m clusters.Mapping,
) targetresource.Resource {
	switch {
	case !m.Namespaced:
		u.SetNamespace("")
	case u.GetNamespace() == "":
		u.SetNamespace(metav1.NamespaceDefault)
	}
	return targetresource.Resource{
		Cluster: p.cluster, Owner: p.owner, Purpose: purpose, Manifest: u, Mapping: m,
		Admit: func(ctx context.Context) error { return r.connect(ctx, p) },
	}
}

// prepare finds out where on the cluster the resource lives.
func (r *Reconciler) prepare(ctx context.Context, p *pass) error {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(p.resource.Spec.Template.Raw); err != nil {
		return errors.Wrapf(errInvalidTemplate, "cannot parse spec.template: %v", err)
	}
	apply.Prepare(u)
	if err := mark(u, p.resource); err != nil {
		return err
	}
	m, err := p.cluster.Mapping(ctx, u.GroupVersionKind())
	if err != nil {
		return errors.Wrap(err, "cannot find kind of template")
	}
	p.remote = r.resourceAt(p, purposeTemplate, u, m)
	return nil
}

// mark makes a resource that of a KubernetesApplicationResource.
func mark(u *unstructured.Unstructured, o *resource) error {
	for _, m := range []struct{ field, key, value string }{
		{"labels", commonv1.LabelKeyManaged, commonv1.LabelValueManaged},
		{"annotations", workloadv1alpha1.AnnotationKeyResourceUID, string(o.GetUID())},
		{"annotations", workloadv1alpha1.AnnotationKeyResourceName, client.ObjectKeyFromObject(o).String()},
	} {
		if v, found, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", m.field); found && v == nil {
			unstructured.RemoveNestedField(u.Object, "metadata", m.field) // What is null is not set.
		}
		if err := unstructured.SetNestedField(u.Object, m.value, "metadata", m.field, m.key); err != nil {
			return errors.Wrapf(errInvalidTemplate, "spec.template.metadata.%s is not an object", m.field)
		}
	}
	return nil
}

// submit keeps the resource as the template wants it, once all Secrets that it needs are there.
func (r *Reconciler) submit(ctx context.Context, p *pass) error {
	live, err := p.remote.Find(ctx, p.remote.Labelled()...)
	if err != nil {
		return err
	}
	p.looked = true
	if err := r.admitLive(ctx, p, p.remote, live); err != nil {
		return err
	}
	p.live = live
	if len(p.missing) == 0 || p.resource.Status.Submitted != nil {
		if err := r.keep(ctx, p); err != nil {
			return err
		}
	}
	if len(p.missing) == 0 {
		return nil
	}
	slices.Sort(p.missing)
	return errors.Wrap(errSecretMissing, "waiting for Secrets that do not exist: "+strings.Join(p.missing, ", "))
}

// admitLive refuses a live resource that is neither that of a KubernetesApplicationResource nor that of its namespace
// and name, which it is after a restore. If it has submitted its template, one in another control plane has taken the
// resource. The garbage collector deletes one whose application is another by now, and must not find that it has any.
func (r *Reconciler) admitLive(ctx context.Context, p *pass, res targetresource.Resource,
	live *unstructured.Unstructured,
) error {
	o, was := p.resource, p.resource.Status.Submitted
	if live == nil || controls(o, live) {
		return nil
	}
	if live.GetAnnotations()[workloadv1alpha1.AnnotationKeyResourceName] != p.owner.String() ||
		was != nil && was.ManifestHash == apply.Hash(p.remote.Manifest.Object) {
		res.Follow(ctx, live) // Its end is awaited.
		return errors.Wrapf(errConflict, "%s exists and is not controlled by KubernetesApplicationResource %s", name(live),
			o.GetName())
	}
	c := metav1.GetControllerOf(o)
	if c == nil || c.Kind != workloadv1alpha1.ApplicationGroupVersionKind.Kind {
		return nil
	}
	app := &workloadv1alpha1.KubernetesApplication{}
	err := r.Local.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: c.Name}, app)
	if client.IgnoreNotFound(err) != nil {
		return targetresource.OfControlPlane(err)
	}
	if app.GetUID() != c.UID {
		return apierrors.NewConflict(schema.GroupResource{}, c.Name, errors.New("the KubernetesApplication with the UID of "+
			"the owner does not exist yet"))
	}
	return nil
}

// controls reports whether a live resource is that of a KubernetesApplicationResource.
func controls(o *resource, live *unstructured.Unstructured) bool {
	uid, ok := live.GetAnnotations()[workloadv1alpha1.AnnotationKeyResourceUID]
	if !ok {
		return apply.Manages(live, fieldManager(o))
	}
	return uid == string(o.GetUID())
}

// keep writes the resource if it is not as the template wants it.
func (r *Reconciler) keep(ctx context.Context, p *pass) error {
	if err := targetresource.Leaving(p.live); err != nil {
		return err
	}
	var err error
	wanted := apply.Hash(p.remote.Manifest.Object)
	if p.current, err = isCurrent(p, wanted); err != nil || p.current {
		p.follow(ctx, p.remote, p.live)
		return errors.Wrap(err, "cannot compare the resource with the manifest")
	}
	live, err := r.write(ctx, p, p.remote, p.live)
	if err != nil || live == nil {
		return err
	}
	held, err := apply.HashOwned(live, p.remote.Manifest, fieldManager(p.resource), apply.Ignored{})
	if err != nil {
		return errors.Wrap(err, "cannot record the resource in the status")
	}
	p.live, p.current = live, true
	p.resource.Status.Submitted = &workloadv1alpha1.SubmittedRecord{
		UID: live.GetUID(), ManifestHash: wanted, FieldsHash: held,
	}
	r.Events.Event(p.resource, event.Normal(reasonSubmitted, "Submitted "+name(live)+" to the cluster"))
	return nil
}

// isCurrent reports whether the live resource is as it was submitted, and that is what is wanted.
func isCurrent(p *pass, wanted string) (bool, error) {
	was := p.resource.Status.Submitted
	if p.live == nil || was == nil || was.ManifestHash != wanted || was.UID != p.live.GetUID() {
		return false, nil
	}
	if legacy, err := migration(p, p.remote, p.live).Needed(); legacy || err != nil {
		return false, err
	}
	held, err := apply.HashOwned(p.live, p.remote.Manifest, fieldManager(p.resource), apply.Ignored{})
	return held == was.FieldsHash, err
}

// follow watches a resource that does not keep our label by its name.
func (p *pass) follow(ctx context.Context, res targetresource.Resource, live *unstructured.Unstructured) {
	p.unlabelled = res.Follow(ctx, live) || p.unlabelled
}

// migration returns what of a live resource becomes ours: all that the former ones of the resource have applied, and
// what the template gives of that which Objects have left or kubectl has made.
func migration(p *pass, res targetresource.Resource, live *unstructured.Unstructured) apply.Migration {
	return apply.Migration{
		Live: live, Manifest: res.Manifest, Manager: fieldManager(p.resource), Owned: true,
		Former: workloadv1alpha1.FieldManagerRemotePrefix, Left: []string{commonv1.FieldManagerPrefix},
	}
}

// write applies a resource: the very one that was seen, or a new one. It returns nil if it is to be written later, as
// somebody keeps changing it.
func (r *Reconciler) write(ctx context.Context, p *pass, res targetresource.Resource,
	seen *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if p.retry = r.drift.Wait(p.owner); p.retry > 0 {
		return nil, nil //nolint:nilnil // Nothing is written.
	}
	c := res.Client(fieldManager(p.resource))
	live, err := res.Write(ctx, func() (*unstructured.Unstructured, error) {
		if seen == nil {
			return c.Introduce(ctx, res.Manifest)
		}
		m := migration(p, res, seen)
		if _, err := c.Migrate(ctx, m); err != nil {
			return nil, err
		}
		send := func(now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return c.Update(ctx, res.Manifest, now.GetUID())
		}
		live, err := send(seen)
		if err != nil {
			return c.Insist(ctx, m, err, send)
		}
		return live, nil
	})
	if err == nil {
		p.follow(ctx, res, live)
	}
	return live, err
}

// name names a resource in messages.
func name(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s", u.GetKind(), client.ObjectKeyFromObject(u))
}

// fieldManager returns the field manager of a KubernetesApplicationResource on its cluster.
func fieldManager(o *resource) string {
	return workloadv1alpha1.FieldManagerRemotePrefix + string(o.GetUID())
}
