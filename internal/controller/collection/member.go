package collection

import (
	"encoding/json"
	"maps"
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// observe is the policy of all members.
var observe = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}

// A member is an Object of a collection, as far as its collection cares. Its maps are shared with the cache.
type member struct {
	name        string
	uid         types.UID
	version     string // the resource version
	resource    resourceID
	bare        bool // the manifest says nothing but which resource it is
	observes    bool // the policy is observe
	labels      map[string]string
	annotations map[string]string
	ref         any
	owned       bool // the collection is an owner
	terminating bool
}

// memberOf returns what counts of an Object of a collection.
func memberOf(o object, owner types.UID) member {
	m := member{
		name: o.GetName(), uid: o.GetUID(), version: o.GetResourceVersion(),
		observes: equality.Semantic.DeepEqual(o.GetManagementPolicies(), observe),
		labels:   o.GetLabels(), annotations: o.GetAnnotations(), ref: scope.ConfigRef(o),
		owned: slices.ContainsFunc(o.GetOwnerReferences(),
			func(r metav1.OwnerReference) bool { return r.UID == owner }),
		terminating: o.GetDeletionTimestamp() != nil,
	}
	content := map[string]any{}
	if json.Unmarshal(o.Desired().ForProvider.Manifest.Raw, &content) == nil {
		m.resource = idOf(content)
		m.bare = equality.Semantic.DeepEqual(content, m.resource.manifest())
	}
	return m
}

// idOf returns which resource a manifest is about.
func idOf(content map[string]any) resourceID {
	u := unstructured.Unstructured{Object: content}
	return resourceID{
		GroupVersionKind: schema.FromAPIVersionAndKind(u.GetAPIVersion(), u.GetKind()),
		NamespacedName:   types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()},
	}
}

// manifest returns the manifest that says which resource it is, and nothing else.
func (r resourceID) manifest() map[string]any {
	version, kind := r.ToAPIVersionAndKind()
	metadata := map[string]any{"name": r.Name}
	if r.Namespace != "" {
		metadata["namespace"] = r.Namespace
	}
	return map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata}
}

// A template is what all members of a collection have in common.
type template struct {
	gvk         schema.GroupVersionKind // of the members
	namespace   string
	labels      map[string]string
	annotations map[string]string
	owner       metav1.OwnerReference
	ref         any  // providerConfigRef
	renew       bool // members may still have labels and annotations that an earlier template gave them
}

// membership returns the label of the members of a collection.
func membership(c Collection) map[string]string {
	return map[string]string{commonv1.LabelKeyCollection: c.GetName()}
}

// templateOf returns the template of a collection of a kind, without the kind and the reference of the members.
func templateOf(c Collection, gvk schema.GroupVersionKind) template {
	version, kind := gvk.ToAPIVersionAndKind()
	t := template{
		namespace: c.GetNamespace(), labels: map[string]string{}, annotations: map[string]string{},
		// Not a controller, as in provider-kubernetes: garbage collection needs none.
		owner: metav1.OwnerReference{APIVersion: version, Kind: kind, Name: c.GetName(), UID: c.GetUID()},
	}
	if d := c.Desired().Template; d != nil {
		maps.Copy(t.labels, d.Metadata.Labels)
		maps.Copy(t.annotations, d.Metadata.Annotations)
	}
	maps.Copy(t.labels, membership(c))
	return t
}

// fits reports whether a member is as the template and its resource make it. That it has more labels and annotations is
// no difference.
func (t template) fits(m member, r resourceID) bool {
	return !t.renew && m.owned && m.observes && m.bare && m.resource == r &&
		holds(m.labels, t.labels) && holds(m.annotations, t.annotations) && equality.Semantic.DeepEqual(m.ref, t.ref)
}

func holds(all, some map[string]string) bool {
	for k, v := range some {
		if got, ok := all[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// apply returns the member to apply: the one of a UID, or a new one if the UID is empty.
func (t template) apply(name string, uid types.UID, r resourceID) (*unstructured.Unstructured, error) {
	spec := map[string]any{
		"managementPolicies": []any{string(xpv2.ManagementActionObserve)},
		"forProvider":        map[string]any{"manifest": r.manifest()},
	}
	if t.ref != nil {
		ref, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t.ref)
		if err != nil {
			return nil, errors.Wrap(err, "cannot encode spec.providerConfigRef")
		}
		spec["providerConfigRef"] = ref
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(t.gvk)
	u.SetNamespace(t.namespace)
	u.SetName(name)
	u.SetUID(uid)
	u.SetLabels(t.labels)
	if len(t.annotations) > 0 {
		u.SetAnnotations(t.annotations)
	}
	u.SetOwnerReferences([]metav1.OwnerReference{t.owner})
	return u, nil
}
