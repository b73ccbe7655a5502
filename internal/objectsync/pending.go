package objectsync

import (
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// expect records that the copy of a related object is about to be made. One that has been made before is recorded as it
// was.
func (p *pass) expect(m relation) {
	if p.recorded(m) {
		p.remember(m)
		return
	}
	p.state.pending.add(m.record())
}

// resumes reports whether the copy of a related object was about to be made when that was last heard of, and is what it
// was to be: then it is ours, or nothing is overwritten.
func (p *pass) resumes(m relation) bool {
	return p.stored.pending.hasSame(m.record()) && p.isIntended(m.record(), m.copied)
}

// isIntended reports whether a copy is the one that was about to be made. On the service cluster it says so. In a
// workspace it is what it was to be: at worst that is an object of the consumer with the same content. A server adds
// defaults to objects of other kinds than Secrets and ConfigMaps, so that those may have more.
func (p *pass) isIntended(r Record, copied *unstructured.Unstructured) bool {
	if r.Origin == v1alpha1.OriginKCP {
		return p.isMarked(r.From, copied)
	}
	was := p.stored.get(p.subjectOf(r))
	if was == nil {
		return false
	}
	if isVerbatim(r.To) {
		return isAsCopied(was, copied)
	}
	return needed(content(was), copied.Object) == nil
}

// isAsCopied reports whether a copy has all of what was copied, and no more but labels and annotations: tools that
// restore backups add some.
func isAsCopied(was, copied *unstructured.Unstructured) bool {
	now := copied.DeepCopy()
	now.SetLabels(only(now.GetLabels(), was.GetLabels()))
	now.SetAnnotations(only(now.GetAnnotations(), was.GetAnnotations()))
	return diff(content(now, statusField), content(was, statusField)) == nil
}

// only returns the entries of a map whose keys another one has.
func only(of, keys map[string]string) map[string]string {
	maps.DeleteFunc(of, func(key, _ string) bool {
		_, ok := keys[key]
		return !ok
	})
	return of
}

// isVerbatim reports whether a server stores an object of this kind as it is, without defaults.
func isVerbatim(r Ref) bool {
	return r.Group == "" && (r.Kind == "Secret" || r.Kind == "ConfigMap")
}

// waive forgets those of some records that are of the copy of a related object, under whatever identifier and in
// whatever version.
func (p *pass) waive(m relation, some recordSet) {
	is := m.record()
	for _, r := range slices.Clone(some.of(is.origin())) {
		if is.same(r) {
			p.disown(r)
		}
	}
}

// strange reports whether a copy that was about to be made when that was last heard of has been made by somebody else.
func (p *pass) strange(r Record, other Side) (bool, error) {
	if !p.state.pending.has(r) {
		return false, nil
	}
	u, err := p.get(other, p.served(r).To)
	if err != nil || u == nil {
		return false, err
	}
	return p.taken(r) || !p.isIntended(r, u), nil
}

// alike returns what other objects of the workspace have or make of the same copy of the same related object, as far as
// that is known.
func (p *pass) alike(r Record) []Holding {
	mine, is := p.stateName(), r.plain()
	return slices.DeleteFunc(p.Holders.Holdings(p.clusterOf(r.Origin), r.From), func(h Holding) bool {
		return h.State == mine || h.Primary.Cluster != p.id.Cluster || h.plain() != is
	})
}

// isAboutToBeMade reports whether another object of the workspace makes the copy of a related object just now.
func (p *pass) isAboutToBeMade(m relation) bool {
	return slices.ContainsFunc(p.alike(m.record()), func(h Holding) bool { return h.Primary.Name == "" && !h.Kept })
}

// awaited is the error that another object of the workspace makes the copy of a related object. It is a conflict, of
// which nobody is told: by the next pass the copy is shared.
func awaited(m relation) error {
	return apierrors.NewConflict(m.to.GVR().GroupResource(), m.to.Name, ErrForeign)
}
