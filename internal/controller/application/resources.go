package application

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/subreconciler"
)

// errConflict is the cause of errors about resources of others that have the names of ours.
var errConflict = errors.New("give the template another name")

// prune deletes the resources that no template makes any more.
func (r *Reconciler) prune(ctx context.Context, p *pass) error {
	return r.deleteAll(ctx, p, func(held *resource) bool {
		return !makes(p.app, held) && metav1.IsControlledBy(held, p.app)
	})
}

// deleteAll deletes the resources that are to go.
func (r *Reconciler) deleteAll(ctx context.Context, p *pass, goes func(*resource) bool) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		if held := p.held[name]; goes(held) {
			errs = append(errs, r.deleteResource(ctx, p, held))
		}
	}
	return kerrors.NewAggregate(errs)
}

// deleteResource deletes the very resource that was seen, unless it is on its way already, and tells it what is to
// become of it without its cluster.
func (r *Reconciler) deleteResource(ctx context.Context, p *pass, held *resource) error {
	p.leaving = append(p.leaving, held.GetName())
	if held.Spec.UnreachableTarget != p.app.Spec.UnreachableTarget {
		wanted := held.DeepCopy()
		wanted.Spec.UnreachableTarget = p.app.Spec.UnreachableTarget
		if err := r.update(ctx, p, wanted); err != nil {
			return errors.Wrapf(err, "cannot update KubernetesApplicationResource %q", held.GetName())
		}
	}
	if meta.WasDeleted(held) {
		return nil
	}
	uid := held.GetUID()
	err := r.Local.Delete(ctx, held.DeepCopy(), client.Preconditions{UID: &uid})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		p.lagging = true // It is gone, and there may be a namesake.
		return nil
	}
	if err != nil {
		return errors.Wrapf(err, "cannot delete KubernetesApplicationResource %q", held.GetName())
	}
	r.Events.Event(p.app, event.Normal(reasonDeleted, "Deleted KubernetesApplicationResource "+held.GetName()))
	return nil
}

// renderResources keeps the resource of each template. One that fails does not keep the others back.
func (r *Reconciler) renderResources(ctx context.Context, p *pass) error {
	var errs []error
	for _, t := range p.app.Spec.ResourceTemplates {
		name := t.Metadata.Name
		held, err := r.renderResource(ctx, p, t)
		if err != nil {
			p.failed[name] = errors.Wrapf(err, "cannot render KubernetesApplicationResource %q", name)
			errs = append(errs, p.failed[name])
		}
		p.held[name] = held
	}
	return kerrors.NewAggregate(errs)
}

// renderResource keeps the resource of a template, and returns it as it is then, nil if there is none that counts.
func (r *Reconciler) renderResource(ctx context.Context, p *pass, t template) (*resource, error) {
	held := p.held[t.Metadata.Name]
	if held == nil {
		return r.create(ctx, p, t)
	}
	if !isOwn(p.app, held) {
		return nil, errors.Wrap(errConflict, "the resource exists and is not controlled by the application")
	}
	wanted := render(p.app, t, held)
	switch {
	case meta.WasDeleted(held), isAnother(held, wanted):
		return nil, r.deleteResource(ctx, p, held) // It is made again when it is gone, which wakes the application.
	case equality.Semantic.DeepEqual(held, wanted):
		return held, nil
	}
	if err := r.update(ctx, p, wanted); err != nil || p.lagging {
		return nil, err
	}
	r.Events.Event(p.app, event.Normal(reasonUpdated, "Updated KubernetesApplicationResource "+held.GetName()))
	return wanted, nil
}

func (r *Reconciler) create(ctx context.Context, p *pass, t template) (*resource, error) {
	wanted := render(p.app, t, nil)
	err := r.Local.Create(ctx, wanted, client.FieldOwner(workloadv1alpha1.FieldManagerApplication))
	if apierrors.IsAlreadyExists(err) {
		p.lagging = true // The cache will show whose it is.
		return nil, nil  //nolint:nilnil // Nothing is known of it.
	}
	if err != nil {
		return nil, err
	}
	r.Events.Event(p.app, event.Normal(reasonCreated, "Created KubernetesApplicationResource "+wanted.GetName()))
	return wanted, nil
}

// update writes a resource, unless somebody has changed it meanwhile.
func (r *Reconciler) update(ctx context.Context, p *pass, wanted *resource) error {
	err := r.Local.Update(ctx, wanted, client.FieldOwner(workloadv1alpha1.FieldManagerApplication))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		p.lagging = true
		return nil
	}
	return err
}

// deleteResources deletes all resources of a deleted application, and waits until they are gone.
func (r *Reconciler) deleteResources(ctx context.Context, p *pass) error {
	err := r.deleteAll(ctx, p, func(held *resource) bool { return isOwn(p.app, held) })
	if err == nil && len(p.leaving) > 0 {
		err = subreconciler.ErrStop
	}
	return err
}

// release removes the finalizer.
func (r *Reconciler) release(ctx context.Context, p *pass) error {
	if !meta.FinalizerExists(p.app, workloadv1alpha1.FinalizerApplication) {
		return nil
	}
	p.done = true
	return managedadapter.RemoveFinalizer(ctx, r.Local, p.app, workloadv1alpha1.FinalizerApplication)
}

type (
	application = workloadv1alpha1.KubernetesApplication
	resource    = workloadv1alpha1.KubernetesApplicationResource
	template    = workloadv1alpha1.ResourceTemplate
)

// templated are the keys of the metadata that a template has given a resource. They are sorted.
type templated struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

// render returns a resource as a template of an application makes it: a new one, or what becomes of the one there is,
// which is not changed.
func render(app *application, t template, existing *resource) *resource {
	r := &resource{}
	if existing != nil {
		r = existing.DeepCopy()
	}
	was := templated{}
	if keys, ok := r.GetAnnotations()[workloadv1alpha1.AnnotationKeyTemplated]; ok {
		_ = json.Unmarshal([]byte(keys), &was) // Who spoils it keeps what the template drops.
	}
	ours := map[string]string{workloadv1alpha1.AnnotationKeyApplicationName: app.GetName()}
	now := templated{
		Labels:      slices.Sorted(maps.Keys(t.Metadata.Labels)),
		Annotations: slices.Sorted(maps.Keys(t.Metadata.Annotations)),
	}
	if len(now.Labels)+len(now.Annotations) > 0 {
		keys, _ := json.Marshal(now) //nolint:errchkjson // Names can be encoded.
		ours[workloadv1alpha1.AnnotationKeyTemplated] = string(keys)
	}
	was.Annotations = append(was.Annotations, workloadv1alpha1.AnnotationKeyTemplated)
	r.SetNamespace(app.GetNamespace())
	r.SetName(t.Metadata.Name)
	r.SetLabels(replace(r.GetLabels(), was.Labels, t.Metadata.Labels))
	r.SetAnnotations(replace(r.GetAnnotations(), was.Annotations, t.Metadata.Annotations, ours))
	r.SetOwnerReferences(slices.DeleteFunc(r.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return isOwner(app, &o)
	}))
	meta.AddOwnerReference(r, meta.AsController(meta.TypedReferenceTo(app,
		workloadv1alpha1.ApplicationGroupVersionKind)))
	meta.AddFinalizer(r, workloadv1alpha1.FinalizerResource)
	r.Spec = workloadv1alpha1.KubernetesApplicationResourceSpec{
		ResourceTemplateSpec: *t.Spec.DeepCopy(), ClusterRef: app.Spec.ClusterRef.DeepCopy(),
		UnreachableTarget: app.Spec.UnreachableTarget,
	}
	return r
}

// replace returns a map without some keys and with other entries.
func replace(m map[string]string, drop []string, add ...map[string]string) map[string]string {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]string{}
	}
	for _, k := range drop {
		delete(out, k)
	}
	for _, a := range add {
		maps.Copy(out, a)
	}
	return out
}

// isAnother reports whether two resources are about different resources on the cluster, or on different clusters: one
// cannot become the other.
func isAnother(a, b *resource) bool {
	s, t := a.Spec.Template, b.Spec.Template
	g, h := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind), schema.FromAPIVersionAndKind(t.APIVersion, t.Kind)
	return g.GroupKind() != h.GroupKind() || s.Metadata != t.Metadata ||
		!equality.Semantic.DeepEqual(a.Spec.ClusterRef, b.Spec.ClusterRef)
}

// isOwn reports whether an application controls a resource, or the one of its name did: it has another UID after a
// restore, and somebody may have taken the controller reference away.
func isOwn(app *application, r *resource) bool {
	c := metav1.GetControllerOf(r)
	if c == nil {
		return r.GetAnnotations()[workloadv1alpha1.AnnotationKeyApplicationName] == app.GetName() && makes(app, r)
	}
	return isOwner(app, c)
}

func isOwner(app *application, o *metav1.OwnerReference) bool {
	return o.Kind == workloadv1alpha1.ApplicationGroupVersionKind.Kind && o.Name == app.GetName()
}

// makes reports whether an application has a template of the name of a resource.
func makes(app *application, r client.Object) bool {
	return slices.ContainsFunc(app.Spec.ResourceTemplates, func(t template) bool { return t.Metadata.Name == r.GetName() })
}
