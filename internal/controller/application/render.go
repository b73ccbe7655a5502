package application

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

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
	spec := workloadv1alpha1.KubernetesApplicationResourceSpec{
		ResourceTemplateSpec: *t.Spec.DeepCopy(), ClusterRef: app.Spec.ClusterRef.DeepCopy(),
		UnreachableTarget: app.Spec.UnreachableTarget,
	}
	if sameTemplate(r.Spec.Template, spec.Template) {
		spec.Template = r.Spec.Template
	}
	r.Spec = spec
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

// sameTemplate reports whether two templates say the same, however they are written.
func sameTemplate(a, b workloadv1alpha1.Template) bool {
	if bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	var x, y any
	return utiljson.Unmarshal(a.Raw, &x) == nil && utiljson.Unmarshal(b.Raw, &y) == nil &&
		equality.Semantic.DeepEqual(x, y)
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
