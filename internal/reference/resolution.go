package reference

import (
	"slices"

	"github.com/pkg/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// A Resolution is what the references of an Object lead to, as far as they could be followed. Its zero value is that of
// an Object without references.
type Resolution struct {
	patches []patch
	size    int                        // of all values, in bytes
	found   []*found                   // the resources to pin
	loose   []commonv1.PinnedReference // what is pinned and must not be
	claims  []claim
}

// sizeMost is how large the values of all references of an Object may be together, in bytes. No API server takes a
// larger manifest.
const sizeMost = 3 << 20

// A patch is a value on its way into a manifest.
type patch struct {
	ref   Reference
	value any // shared

	read   any  // the value before it was transformed; shared
	secret bool // it comes from a Secret
}

// A Value is what a reference writes into a manifest.
type Value struct {
	// To is the field of the manifest.
	To string
	// Read is the value as it was read, and Written as it is written. Both are shared.
	Read, Written any
	// Secret says that the value comes from a Secret.
	Secret bool
}

// Values returns what Apply writes, in its order. What names the resource is left out: it is in events and conditions
// anyhow.
func (r *Resolution) Values() []Value {
	if r == nil {
		return nil
	}
	values := make([]Value, 0, len(r.patches))
	for _, p := range r.patches {
		if slices.Contains(identity(), p.ref.To) {
			continue
		}
		values = append(values, Value{To: p.ref.To, Read: p.read, Written: p.value, Secret: p.secret})
	}
	return values
}

// A claim says what an existing pin must be of to be kept.
type claim struct {
	group, kind     string
	namespace, name string
	anyNamespace    bool // the scope of the kind is not known
	anyName         bool
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
	for _, p := range r.patches {
		if err := write(content, p.ref.To, p.value); err != nil {
			return invalid("%s: cannot write %s of the manifest: %v", p.ref.At, p.ref.To, err)
		}
		if err := p.check(content); err != nil {
			return err
		}
	}
	return nil
}

// check sees to it that a manifest whose name comes from elsewhere has one.
func (p patch) check(content map[string]any) error {
	for _, field := range identity() {
		if !covers(p.ref.To, field) {
			continue
		}
		v, ok, err := read(content, field)
		if err != nil || !ok && p.ref.To != field {
			continue // A whole metadata need not have a namespace.
		}
		if s, isText := v.(string); !isText || s == "" {
			return waiting("%s to give a text for %s that is not empty in its field %s", &p.ref, field, p.ref.From)
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

// claim keeps existing pins of what a reference names.
func (r *Resolution) claim(ref *located) {
	r.claims = append(r.claims, claim{
		group: ref.GVK.Group, kind: ref.GVK.Kind, namespace: ref.Namespace, name: ref.Name,
		anyNamespace: !ref.known, anyName: ref.Name == "",
	})
}

// keeps reports whether a pin is still wanted.
func (r *Resolution) keeps(p commonv1.PinnedReference) bool {
	for _, f := range r.found {
		if f.pin == p {
			return true
		}
	}
	gvk := kindOf(p)
	return slices.ContainsFunc(r.claims, func(c claim) bool {
		return c.group == gvk.Group && c.kind == gvk.Kind &&
			(c.anyNamespace || c.namespace == p.Namespace) && (c.anyName || c.name == p.Name)
	})
}

// take adds a value to a resolution.
func (r *Resolution) take(p patch) error {
	r.size += sizeOf(p.value)
	if r.size > sizeMost {
		return invalid("%s: the values of all references are larger than %d bytes", p.ref.At, sizeMost)
	}
	r.patches = append(r.patches, p)
	return nil
}

// sizeOf returns about how much of a manifest a value takes.
func sizeOf(value any) int {
	size := 1
	switch v := value.(type) {
	case string:
		size += len(v)
	case map[string]any:
		for k, e := range v {
			size += len(k) + sizeOf(e)
		}
	case []any:
		for _, e := range v {
			size += sizeOf(e)
		}
	}
	return size
}

// readValue returns the value that a reference leads to, on its way into the manifest.
func (r *Reference) readValue(content map[string]any) (patch, error) {
	v, ok, err := read(content, r.From)
	if err != nil {
		return patch{}, invalid("%s: field %s of %s: %v", r.At, r.From, r, err)
	}
	if !ok {
		return patch{}, waiting("%s to have field %s", r, r.From)
	}
	p := patch{ref: *r, read: v, secret: inSecret(content, r.From)}
	p.value, err = Transform(v, r.Transforms)
	if err != nil {
		return patch{}, problem{
			error:  errors.Wrapf(err, "%s: cannot transform field %s of %s", r.At, r.From, r),
			reason: commonv1.ReasonInvalidReference,
		}
	}
	return p, nil
}
