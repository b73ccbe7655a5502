package collection

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// A plan is what has to be written so that a collection has the members it should have. All of it is sorted by name.
type plan struct {
	apply []application
	prune []member
}

// An application is a member to apply.
type application struct {
	name     string
	resource resourceID
	uid      types.UID // of the member there is, empty if there is none
}

// planFor compares the members that are held with those assigned. A member that is being deleted is left alone until it
// is gone.
func planFor(assigned map[string]resourceID, held map[string]member, t template) plan {
	var p plan
	for name, r := range assigned {
		m, ok := held[name]
		if ok && (m.terminating || t.fits(m, r)) {
			continue
		}
		p.apply = append(p.apply, application{name: name, resource: r, uid: m.uid})
	}
	for name, m := range held {
		if _, ok := assigned[name]; !ok && m.owned && !m.terminating {
			p.prune = append(p.prune, m)
		}
	}
	slices.SortFunc(p.apply, func(a, b application) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(p.prune, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return p
}

// isShownBy reports whether the members that are held are as the plan makes them.
func (p plan) isShownBy(held map[string]member, t template) bool {
	t.renew = false // What is too much on a member does not show.
	return !slices.ContainsFunc(p.apply, func(a application) bool { return !t.fits(held[a.name], a.resource) }) &&
		!slices.ContainsFunc(p.prune, func(m member) bool { return held[m.name].uid == m.uid && !held[m.name].terminating })
}

// A resourceID identifies a resource on a target.
type resourceID struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// digits are how many digits of the hash of a resource the name of its member may end with. The last are all.
var digits = [...]int{7, 14, 28, 64}

// names returns the names that the member of a resource may have, the one to prefer first.
func (r resourceID) names(collection string) []string {
	// The text is that of provider-kubernetes, for example "apps/v1, Kind=Deployment/default/web".
	sum := sha256.Sum256(fmt.Appendf(nil, "%v/%s/%s", r.GroupVersionKind, r.Namespace, r.Name))
	hash := hex.EncodeToString(sum[:])
	names := make([]string, len(digits))
	for i, n := range digits {
		names[i] = collection + "-" + hash[:n]
	}
	return names
}

// assign returns the resource that the member of each name stands for. held are the members there are, by name, and
// selected are the resources without repetition; if names collide, the first of them has the better one. Members keep
// their names.
func assign(collection string, selected []resourceID, held map[string]member) map[string]resourceID {
	assigned := make(map[string]resourceID, len(selected))
	var nameless []resourceID
	for _, r := range selected {
		names := r.names(collection)
		i := slices.IndexFunc(names, func(name string) bool { return held[name].resource == r })
		if i < 0 {
			nameless = append(nameless, r)
			continue
		}
		assigned[names[i]] = r
	}
	for _, r := range nameless {
		for _, name := range r.names(collection) {
			_, taken := assigned[name]
			// A change of the manifest of a member does not move its name to another resource.
			if !taken && !slices.Contains(held[name].resource.names(collection), name) {
				assigned[name] = r
				break
			}
		}
	}
	return assigned
}

// observe is the policy of all members.
var observe = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}

// A member is an Object of a collection, as far as its collection cares. Its maps are shared with the cache.
type member struct {
	name        string
	uid         types.UID
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
		name: o.GetName(), uid: o.GetUID(),
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
		labels.Set(t.labels).AsSelectorPreValidated().Matches(labels.Set(m.labels)) &&
		labels.Set(t.annotations).AsSelectorPreValidated().Matches(labels.Set(m.annotations)) &&
		equality.Semantic.DeepEqual(m.ref, t.ref)
}

// apply returns the member to apply: the one of a UID, or a new one if the UID is empty.
func (t template) apply(name string, uid types.UID, r resourceID) *unstructured.Unstructured {
	spec := map[string]any{
		"managementPolicies": []any{string(xpv2.ManagementActionObserve)},
		"forProvider":        map[string]any{"manifest": r.manifest()},
	}
	if t.ref != nil {
		spec["providerConfigRef"], _ = runtime.DefaultUnstructuredConverter.ToUnstructured(t.ref) // It comes from JSON.
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
	return u
}
