package reference

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reads reports whether somebody refers to an Object and reads a field of it that differs between two states of it.
func (r *Resolver) Reads(gvk schema.GroupVersionKind, was, is Object) bool {
	fields := r.objects.fieldsOf(gvk.GroupKind(), is)
	if len(fields) == 0 {
		return false
	}
	before, err := content(was, gvk)
	if err != nil {
		return true // It is safer to show it.
	}
	now, err := content(is, gvk)
	if err != nil {
		return true
	}
	for _, f := range fields {
		a, had, _ := read(before, f)
		b, has, _ := read(now, f)
		if had != has || !equality.Semantic.DeepEqual(a, b) {
			return true
		}
	}
	return false
}

// fieldsOf returns the fields of an Object that references read.
func (s *objects) fieldsOf(gk schema.GroupKind, o client.Object) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for f := range s.fields[objectInterest{kind: gk, NamespacedName: client.ObjectKeyFromObject(o)}] {
		all = append(all, f)
	}
	for w, selector := range s.selectors {
		if w.kind != gk || !selects(w, selector, []client.Object{o}) {
			continue
		}
		for f := range s.fields[w] {
			all = append(all, f)
		}
	}
	return all
}
