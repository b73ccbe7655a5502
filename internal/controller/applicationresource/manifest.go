package applicationresource

import (
	"context"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

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
	for field, m := range map[string]struct{ key, value string }{
		"labels":      {commonv1.LabelKeyManaged, commonv1.LabelValueManaged},
		"annotations": {workloadv1alpha1.AnnotationKeyResourceUID, string(o.GetUID())},
	} {
		if v, found, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", field); found && v == nil {
			unstructured.RemoveNestedField(u.Object, "metadata", field) // What is null is not set.
		}
		if err := unstructured.SetNestedField(u.Object, m.value, "metadata", field, m.key); err != nil {
			return errors.Wrapf(errInvalidTemplate, "spec.template.metadata.%s is not an object", field)
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
