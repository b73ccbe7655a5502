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
		at := step.path
		if at.String() == path.String() && step.origin != nil {
			return step.origin(other)
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
