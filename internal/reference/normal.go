package reference

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
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
	// From is the field that is read, empty for none, and To the field of the manifest that is written, empty for none.
	From, To string
	// Transforms change the value on its way.
	Transforms []commonv1.Transform
	// Err is why the reference cannot be followed, nil if it can.
	Err error
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

// Normalise returns the references of an Object in their order. Entries without effect are left out.
func Normalise(spec *commonv1.ObjectSpec, rules Rules) []Reference {
	var refs []Reference
	for i, r := range spec.References {
		at := fmt.Sprintf("spec.references[%d]", i)
		var n Reference
		switch {
		case r.PatchesFrom != nil:
			n = fromPatches(r.PatchesFrom, r.ToFieldPath, rules)
			n.At = at + ".patchesFrom"
		case r.FromObject != nil:
			n = fromObject(r.FromObject, r.ToFieldPath, rules)
			n.At = at + ".fromObject"
		case r.DependsOn != nil:
			d := r.DependsOn
			n = named(schema.FromAPIVersionAndKind(d.APIVersion, d.Kind),
				types.NamespacedName{Namespace: d.Namespace, Name: d.Name}, rules)
			n.WaitFor = d.WaitFor
			n.At = at + ".dependsOn"
		default:
			continue
		}
		n.check(rules)
		refs = append(refs, n)
	}
	return refs
}

func fromPatches(p *commonv1.PatchesFrom, to *string, rules Rules) Reference {
	n := named(schema.FromAPIVersionAndKind(p.APIVersion, p.Kind),
		types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, rules)
	n.From, n.To, n.Transforms = p.FieldPath, p.FieldPath, p.Transforms
	if to != nil && *to != "" {
		n.To = *to
	}
	if p.Selector == nil {
		return n
	}
	s, err := metav1.LabelSelectorAsSelector(p.Selector)
	if err != nil {
		n.Err = invalid("selector is invalid: %v", err)
		return n
	}
	n.Selector = s.String()
	return n
}

func fromObject(f *commonv1.FromObject, to *string, rules Rules) Reference {
	n := named(schema.FromAPIVersionAndKind(f.APIVersion, f.Kind),
		types.NamespacedName{Namespace: f.Namespace, Name: f.Name}, rules)
	n.From = f.FieldPath
	if to != nil {
		n.To = strings.TrimPrefix(*to, manifestPath)
	}
	if f.Name == "" && len(f.MatchLabels) > 0 {
		n.Selector = labels.SelectorFromSet(f.MatchLabels).String()
	}
	return n
}

// named returns a reference to a resource, with the defaults of the scope.
func named(gvk schema.GroupVersionKind, n types.NamespacedName, rules Rules) Reference {
	if gvk.Kind == "" {
		gvk.Kind = commonv1.ObjectKind
	}
	if gvk.Version == "" {
		gvk.Group, gvk.Version = rules.GVK.Group, rules.GVK.Version
	}
	if n.Namespace == "" {
		n.Namespace = rules.Namespace
	}
	return Reference{GVK: gvk, NamespacedName: n}
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
		r.Err = invalid("namespace %q is not that of the Object, and references to others need the provider's flag "+
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

// String names the resource for users.
func (r *Reference) String() string {
	if r.Selector != "" {
		return fmt.Sprintf("%s with labels %s", in(r.GVK.Kind, r.Namespace), r.Selector)
	}
	return describe(r.GVK.Kind, r.NamespacedName)
}

func in(kind, namespace string) string {
	if namespace == "" {
		return kind
	}
	return kind + " in namespace " + namespace
}

// describe names a resource for users.
func describe(kind string, n types.NamespacedName) string {
	if n.Namespace == "" {
		return kind + " " + n.Name
	}
	return kind + " " + n.String()
}
