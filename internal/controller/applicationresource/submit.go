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
	"k8s.io/apimachinery/pkg/runtime"
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

// purposeRival is a resource of somebody else that has the name of ours.
const purposeRival informer.Purpose = "rival"

// submit keeps the resource as the template wants it, once all Secrets that it needs are there.
func (r *Reconciler) submit(ctx context.Context, p *pass) error {
	if err := r.look(ctx, p, p.remote); err != nil {
		return err
	}
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
	if err := r.admitLive(ctx, p, res, live); err != nil {
		return err
	}
	p.cluster.Watches().Track(p.owner, purposeRival)
	p.live = live
	return nil
}

// admitLive refuses a live resource that is neither that of a KubernetesApplicationResource nor that of its namespace
// and name, which it is after a restore. If it has submitted its template, one in another control plane has taken the
// resource. The garbage collector deletes one whose application is another by now, and must not find that it has any.
func (r *Reconciler) admitLive(ctx context.Context, p *pass, res targetresource.Resource,
	live *unstructured.Unstructured,
) error {
	o, was := p.resource, p.resource.Status.Submitted
	if controls(o, live) {
		return nil
	}
	if live.GetAnnotations()[workloadv1alpha1.AnnotationKeyResourceName] != p.owner.String() ||
		was != nil && was.ManifestHash == apply.Hash(p.remote.Manifest.Object) {
		return r.refuse(p, res)
	}
	c := metav1.GetControllerOf(o)
	if c == nil || c.Kind != workloadv1alpha1.ApplicationGroupVersionKind.Kind {
		return nil
	}
	app := &workloadv1alpha1.KubernetesApplication{}
	err := r.local.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: c.Name}, app)
	if client.IgnoreNotFound(err) != nil {
		return targetresource.OfControlPlane(err)
	}
	if app.GetUID() != c.UID {
		return apierrors.NewConflict(schema.GroupResource{}, c.Name, errors.New("the application is not restored yet"))
	}
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
	if err := targetresource.Leaving(p.live); err != nil {
		return err
	}
	wanted := apply.Hash(p.remote.Manifest.Object)
	var err error
	if p.current, err = isCurrent(p, wanted); err != nil || p.current {
		p.unlabelled = p.current && p.remote.Follow(ctx, p.live) || p.unlabelled
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
	if legacy, err := migration(p, p.remote, p.live).Needed(); legacy || err != nil {
		return false, err
	}
	held, err := apply.HashOwned(p.live, p.remote.Manifest, fieldManager(p.resource))
	return held == was.FieldsHash, err
}

// migration returns what of a live resource becomes ours: all that the former ones of the resource have applied, and
// what the template gives of that which Objects have left or kubectl has made.
func migration(p *pass, res targetresource.Resource, live *unstructured.Unstructured) apply.Migration {
	return apply.Migration{
		Live: live, Manifest: res.Manifest, Manager: fieldManager(p.resource), Owned: true,
		Former: workloadv1alpha1.FieldManagerRemotePrefix, Left: []string{commonv1.FieldManagerPrefix},
	}
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
		m := migration(p, res, seen)
		if _, err := c.Migrate(ctx, m); err != nil {
			return nil, err
		}
		send := func() (*unstructured.Unstructured, error) { return c.Update(ctx, res.Manifest, seen.GetUID()) }
		live, err := send()
		if err == nil {
			return live, nil
		}
		return c.Insist(ctx, m, err, send)
	})
	if errors.Is(err, apply.ErrTaken) {
		return nil, r.refuse(p, res)
	}
	p.unlabelled = err == nil && res.Follow(ctx, live) || p.unlabelled
	return live, err
}

// name names a resource in messages.
func name(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s", u.GetKind(), targetresource.Name(u))
}

// purposeTemplate is the resource of the template.
const purposeTemplate informer.Purpose = "template"

// errInvalidTemplate is the cause of errors that only a change of the template can cure.
var errInvalidTemplate = errors.New("template is invalid")

// fieldManager returns the field manager of a KubernetesApplicationResource on its cluster.
func fieldManager(o *workloadv1alpha1.KubernetesApplicationResource) string {
	return workloadv1alpha1.FieldManagerRemotePrefix + string(o.GetUID())
}

// desired returns what a KubernetesApplicationResource wants on its cluster.
func desired(o *workloadv1alpha1.KubernetesApplicationResource) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(o.Spec.Template.Raw); err != nil {
		if runtime.IsMissingKind(err) { // The error repeats the template, which may be a Secret.
			err = errors.New("kind is not set")
		}
		return nil, errors.Wrapf(errInvalidTemplate, "cannot parse spec.template: %v", err)
	}
	if u.IsList() {
		return nil, errors.Wrap(errInvalidTemplate, "spec.template is a list: use a resource template for each item")
	}
	apply.Prepare(u)
	return u, mark(u, o)
}

// mark makes a resource that of a KubernetesApplicationResource.
func mark(u *unstructured.Unstructured, o *workloadv1alpha1.KubernetesApplicationResource) error {
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

// settle puts a resource where the cluster keeps resources of its kind: those of a namespaced kind in a namespace,
// others in none.
func settle(u *unstructured.Unstructured, m clusters.Mapping) {
	switch {
	case !m.Namespaced:
		u.SetNamespace("")
	case u.GetNamespace() == "":
		u.SetNamespace(metav1.NamespaceDefault)
	}
}

// controls reports whether a live resource is that of a KubernetesApplicationResource.
func controls(o *workloadv1alpha1.KubernetesApplicationResource, live *unstructured.Unstructured) bool {
	uid, ok := live.GetAnnotations()[workloadv1alpha1.AnnotationKeyResourceUID]
	if !ok {
		return apply.Manages(live, fieldManager(o))
	}
	return uid == string(o.GetUID())
}

// place finds out where on the cluster the resource lives.
func (r *Reconciler) place(ctx context.Context, p *pass) error {
	u, err := desired(p.resource)
	if err != nil {
		return err
	}
	m, err := p.cluster.Mapping(ctx, p.owner, u.GroupVersionKind())
	if err != nil {
		return errors.Wrap(err, "cannot find kind of template")
	}
	settle(u, m)
	p.remote = targetresource.Resource{
		Cluster: p.cluster, Admit: p.admit, Owner: p.owner, Purpose: purposeTemplate, Manifest: u, Mapping: m,
	}
	return nil
}
