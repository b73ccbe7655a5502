package reference

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

// manifestPath is where the manifest lies in an Object. Absolute field paths begin with it.
const manifestPath = "spec.forProvider.manifest."

// A Reference is one reference of an Object with its defaults filled in.
type Reference struct {
	types.NamespacedName // without a name if there is a selector

	// At is where in the Object the reference stands.
	At string
	// GVK is the kind of the resource.
	GVK schema.GroupVersionKind
	// Selector is the label selector of the resource, instead of a name.
	Selector string
	// WaitFor says what to wait for beside the existence of the resource and of the field.
	WaitFor commonv1.WaitFor
	// Query is the CEL query that the resource must satisfy, too, empty for none.
	Query string
	// From is the field that is read, empty for none, and To the field of the manifest that is written, empty for none.
	From, To string
	// Transforms change the value on its way.
	Transforms []commonv1.Transform
	// Err is why the reference cannot be followed, nil if it can.
	Err error

	selector labels.Selector  // what Selector says, nil if it is empty
	required string           // one label that it requires, empty for none
	mapping  clusters.Mapping // how the control plane serves the kind, once that is known
}

// Rules say how the references of one Object are read.
type Rules struct {
	// GVK is the kind of the Object, which is also the default kind of its references.
	GVK schema.GroupVersionKind
	// Namespace of the Object, empty if it is cluster-scoped.
	Namespace string
	// CrossNamespace lets an Object of a namespace refer to other namespaces and to cluster-scoped resources.
	CrossNamespace bool
}

// Normalise returns the references of an Object in their order: of an entry that has several members that of dependsOn
// first. Entries without effect are left out.
func Normalise(spec *commonv1.ObjectSpec, rules Rules) []Reference {
	var refs []Reference
	for i, r := range spec.References {
		at := fmt.Sprintf("spec.references[%d]", i)
		to := ptr.Deref(r.ToFieldPath, "")
		if d := r.DependsOn; d != nil {
			n := rules.named(d.APIVersion, d.Kind, d.Namespace, d.Name)
			n.At, n.WaitFor, n.Query = at+".dependsOn", d.WaitFor, d.CelQuery
			refs = append(refs, n)
		}
		switch p, f := r.PatchesFrom, r.FromObject; {
		case p != nil:
			n := rules.named(p.APIVersion, p.Kind, p.Namespace, p.Name)
			n.At, n.From, n.To, n.Transforms = at+".patchesFrom", p.FieldPath, cmp.Or(to, p.FieldPath), p.Transforms
			n.setSelector(ptr.Deref(p.Selector, metav1.LabelSelector{}))
			refs = append(refs, n)
		case f != nil:
			n := rules.named(f.APIVersion, f.Kind, f.Namespace, f.Name)
			n.At, n.From, n.To = at+".fromObject", f.FieldPath, strings.TrimPrefix(to, manifestPath)
			if f.Name == "" && len(f.MatchLabels) > 0 {
				n.setSelector(metav1.LabelSelector{MatchLabels: f.MatchLabels})
			}
			refs = append(refs, n)
		}
	}
	for i := range refs {
		refs[i].check(rules)
	}
	return refs
}

func (r *Reference) setSelector(s metav1.LabelSelector) {
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		r.Err = invalid("selector is invalid: %v", err)
		return
	}
	r.Selector, r.selector = selector.String(), selector
	for k, v := range s.MatchLabels {
		r.required = max(r.required, k+"="+v)
	}
}

// named returns a reference to a resource, with the defaults of the scope.
func (r Rules) named(apiVersion, kind, namespace, name string) Reference {
	gvk := schema.FromAPIVersionAndKind(apiVersion, cmp.Or(kind, commonv1.ObjectKind))
	if gvk.Version == "" {
		gvk.Group, gvk.Version = r.GVK.Group, r.GVK.Version
	}
	return Reference{GVK: gvk, NamespacedName: types.NamespacedName{
		Namespace: cmp.Or(namespace, r.Namespace), Name: name,
	}}
}

// crossNamespaceFlag lets namespaced Objects refer to what is not in their namespace.
const crossNamespaceFlag = "--allow-cross-namespace-references"

// check finds what is wrong with a reference whatever the control plane holds.
func (r *Reference) check(rules Rules) {
	switch {
	case r.Err != nil:
	case (r.Name == "") == (r.Selector == ""):
		r.Err = invalid("exactly one of a name and a non-empty selector must be set")
	case rules.Namespace != "" && r.Namespace != rules.Namespace && !rules.CrossNamespace:
		r.Err = invalid("namespace %q is not the namespace of the Object, and other namespaces need the provider's flag "+
			crossNamespaceFlag, r.Namespace)
	case r.To != "" && r.From == "":
		r.Err = invalid("toFieldPath needs a fieldPath")
	case checkPath(r.From) != nil:
		r.Err = invalid("fieldPath is invalid: %v", checkPath(r.From))
	case checkPath(r.To) != nil:
		r.Err = invalid("toFieldPath is invalid: %v", checkPath(r.To))
	}
	if r.Err != nil {
		r.Err = invalid("%s: %v", r.At, r.Err)
	}
}

// inspects reports whether an Object waits for more than conditions of what a reference names, so that each change of
// that matters to it.
func (r *Reference) inspects(f Referrer) bool {
	return (r.WaitFor == commonv1.WaitForHealthy || r.Query != "") && !f.hasResource()
}

// node returns what a reference to an Object, or to Objects, names.
func (r *Reference) node() node { return node{r.GVK.GroupKind(), r.NamespacedName} }

// selects reports whether a reference selects an Object by its labels.
func (r *Reference) selects(gk schema.GroupKind, o metav1.Object) bool {
	return r.Selector != "" && r.GVK.GroupKind() == gk && r.Namespace == o.GetNamespace() &&
		r.selector.Matches(labels.Set(o.GetLabels()))
}

// key returns the value of the index under which a reference is found. One that selects is found by one label that it
// requires, if any.
func (r *Reference) key() string {
	if r.Selector == "" {
		return r.node().key()
	}
	return r.node().key() + "?" + r.required
}

// isOf reports whether a pin may be of what a reference names. That of a cluster-scoped resource has no namespace.
func (r *Reference) isOf(p commonv1.PinnedReference) bool {
	return kindOf(p).GroupKind() == r.GVK.GroupKind() && (r.Name == "" || r.Name == p.Name) &&
		(p.Namespace == "" || p.Namespace == r.Namespace)
}

// String names the resource for users.
func (r *Reference) String() string {
	if r.Selector != "" {
		kind := r.GVK.Kind
		if r.Namespace != "" {
			kind += " in namespace " + r.Namespace
		}
		return kind + " with labels " + r.Selector
	}
	return describe(r.GVK.Kind, r.NamespacedName)
}
