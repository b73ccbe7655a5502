package reference

import (
	"encoding/json"
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// A Resolution is what the references of an Object lead to, as far as they could be followed. Its zero value is that of
// an Object without references.
type Resolution struct {
	values []value
	size   int          // of all values, in bytes
	texts  int          // how long the texts were that transforms have taken and made, in bytes
	found  []*found     // the resources to pin
	unsure []*Reference // what is pinned of these stays pinned
}

// A found resource is one a reference leads to.
type found struct {
	metav1.Object

	pin     commonv1.PinnedReference
	content func() (map[string]any, error)
}

// sizeMost is how large the values of all references of an Object may be together, in bytes. No API server takes a
// larger manifest.
const sizeMost = 3 << 20

// A value is what a reference writes into a manifest.
type value struct {
	ref     *Reference
	written any  // shared
	secret  bool // it comes from a Secret
}

// SecretFields returns the fields of the manifest that Apply writes and that hold values of Secrets. Fields that name
// the resource are left out: events and conditions show them anyhow.
func (r *Resolution) SecretFields() []string {
	if r == nil {
		return nil
	}
	var fields []string
	for _, v := range r.values {
		if v.secret && !slices.Contains(identity(), v.ref.To) {
			fields = append(fields, v.ref.To)
		}
	}
	return fields
}

// identity are the fields by which a manifest names a resource, and which therefore must not fall back to a default.
func identity() []string {
	return []string{"apiVersion", "kind", "metadata.name", "metadata.namespace"}
}

// Apply writes the values read through the references into the content of a manifest.
func (r *Resolution) Apply(content map[string]any) error {
	if r == nil {
		return nil
	}
	for _, v := range r.values {
		if err := write(content, v.ref.To, v.written); err != nil {
			return invalid("%s: cannot write %s of the manifest: %v", v.ref.At, v.ref.To, err)
		}
		if err := v.check(content); err != nil {
			return err
		}
	}
	return nil
}

// check sees to it that a manifest whose name comes from elsewhere has one.
func (v value) check(content map[string]any) error {
	for _, field := range identity() {
		if !covers(v.ref.To, field) {
			continue
		}
		name, ok, err := read(content, field)
		if err != nil || !ok && v.ref.To != field {
			continue // A whole metadata need not have a namespace.
		}
		if s, isText := name.(string); !isText || s == "" {
			return waiting("%s to have a non-empty string in field %s, for %s of the manifest", v.ref, v.ref.From, field)
		}
	}
	return nil
}

// Names reports whether references decide what resource an Object is about.
func Names(spec *commonv1.ObjectSpec) bool {
	return slices.ContainsFunc(Normalise(spec, Rules{}), func(r Reference) bool {
		return r.To != "" && slices.ContainsFunc(identity(), func(field string) bool { return covers(r.To, field) })
	})
}

// keeps reports whether a pin is still wanted.
func (r *Resolution) keeps(p commonv1.PinnedReference) bool {
	return slices.ContainsFunc(r.found, func(x *found) bool { return x.pin == p }) ||
		slices.ContainsFunc(r.unsure, func(ref *Reference) bool { return ref.isOf(p) })
}

// take adds a value to a resolution.
func (r *Resolution) take(v value) error {
	b, _ := json.Marshal(v.written) //nolint:errchkjson // It comes from JSON.
	if r.size += len(b); r.size > sizeMost {
		return invalid("%s: the values of all references have more than %d bytes in total", v.ref.At, sizeMost)
	}
	r.values = append(r.values, v)
	return nil
}

// A problem is why a reference keeps an Object from going on, with the reason of the condition that says so.
type problem struct {
	error

	reason xpv2.ConditionReason
}

// Unwrap returns the cause.
func (p problem) Unwrap() error { return p.error }

// waiting means that something on the control plane must happen first. The Object is woken when it has.
func waiting(format string, args ...any) error {
	return problem{errors.Errorf("waiting for "+format, args...), commonv1.ReasonWaitingForReference}
}

// invalid means that a reference cannot be resolved as it is written.
func invalid(format string, args ...any) error {
	return problem{errors.Errorf(format, args...), commonv1.ReasonInvalidReference}
}

// refused means that the control plane does not let us do what a reference needs.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return problem{err, xpv2.ReasonReconcileError}
}

// ReasonOf returns the reason of condition Synced for an error of this package, empty for any other.
func ReasonOf(err error) xpv2.ConditionReason {
	var p problem
	if errors.As(err, &p) {
		return p.reason
	}
	return ""
}

// IsAwaited reports whether an error ends with a change of the Object or of what it refers to. The Object is told
// about that change.
func IsAwaited(err error) bool {
	r := ReasonOf(err)
	return r != "" && r != xpv2.ReasonReconcileError
}
