package mutation

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// Provenance returns who decides on what the steps for spec leave in a field, given what is known of the object on the
// other side. That is the author of the object, unless a step replaces the whole field and no later step touches it.
func (m *Mutations) Provenance(path jsonpath.Path, other func(path ...string) provenance.Value) provenance.Value {
	if m == nil || path.Complex() {
		return provenance.Entered
	}
	for _, step := range slices.Backward(m.spec) {
		at := step.path.String()
		if at == path.String() {
			return step.provenance(other)
		}
		if step.path.Complex() || strings.ContainsAny(at, `\:`) || overlap(at, path.String()) {
			return provenance.Entered
		}
	}
	return provenance.Entered
}

// overlap reports whether one of two paths leads to a part of what the other does.
func overlap(a, b string) bool {
	return strings.HasPrefix(a+".", b+".") || strings.HasPrefix(b+".", a+".")
}

// provenance tells who decides on what the step leaves in its field. It looks at what a template is made of:
// LocalObject is the object that is changed, RemoteObject the other one. The workspace is what naming knows it as. An
// expression is not looked into.
func (s step) provenance(other func(path ...string) provenance.Value) provenance.Value {
	switch {
	case s.constant:
		return provenance.Fixed
	case s.template == nil:
		return provenance.Entered
	}
	return s.template.Value(provenance.Context{Of: func(path ...string) provenance.Value {
		switch {
		case path[0] == "RemoteObject":
			return other(path[1:]...)
		case path[0] == "ClusterName":
			return provenance.Assigned
		case path[0] == "ClusterPath":
			return provenance.Path
		case strings.Join(path, ".") == "LocalObject.metadata.uid":
			return provenance.Assigned
		}
		return provenance.Entered
	}})
}
