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
		at := step.target()
		if at.String() == path.String() {
			return step.provenance(other)
		}
		if at.Complex() || strings.ContainsAny(at.String(), `\:`) || overlap(at.String(), path.String()) {
			return provenance.Entered
		}
	}
	return provenance.Entered
}

// overlap reports whether one of two paths leads to a part of what the other does.
func overlap(a, b string) bool {
	return strings.HasPrefix(a+".", b+".") || strings.HasPrefix(b+".", a+".")
}

func (d deletion) target() jsonpath.Path    { return d.path }
func (r replacement) target() jsonpath.Path { return r.path }
func (r rendering) target() jsonpath.Path   { return r.path }
func (e evaluation) target() jsonpath.Path  { return e.path }

func (d deletion) provenance(func(path ...string) provenance.Value) provenance.Value {
	return provenance.Entered
}

func (r replacement) provenance(func(path ...string) provenance.Value) provenance.Value {
	return r.origin
}

// provenance looks at what the template is made of: LocalObject is the object that is changed, RemoteObject the other
// one. The workspace is what naming knows it as.
func (r rendering) provenance(other func(path ...string) provenance.Value) provenance.Value {
	return r.origin.Value(provenance.Context{Of: func(path ...string) provenance.Value {
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

// provenance of an expression is not looked into.
func (e evaluation) provenance(func(path ...string) provenance.Value) provenance.Value {
	return provenance.Entered
}
