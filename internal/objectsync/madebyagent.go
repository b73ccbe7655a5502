package objectsync

import (
	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// madeByAgent reports whether api-syncagent has made the copy of a related object of the workspace, and has remembered
// another object of that name in its place. It is so if the agent holds the object, the object it belongs to is as the
// agent has left it, and the copy is all that it would be and no more: then nothing is overwritten.
func (p *pass) madeByAgent(m relation) bool {
	if m.related.origin != v1alpha1.OriginKCP || !p.agents || !hasFinalizer(m.origin) ||
		!p.stored.holdsOtherKind(p.subjectOf(m.record())) {
		return false
	}
	desired, err := p.desired(m, m.copied)
	has := content(m.copied, omitted(m.copies())...)
	return err == nil && len(desired) > 0 && diff(has, desired) == nil
}

// unresolvable reports whether an error means that a primary names related objects by what cannot be a name, so that
// there are none.
func unresolvable(err error) bool {
	return errors.Is(err, ErrNoNamespace) || errors.Is(err, ErrUneven) || errors.Is(err, ErrInvalidName) ||
		errors.Is(err, ErrTooMany)
}

// holdsOtherKind reports whether the place where api-syncagent remembers an object has one of another kind.
func (s *state) holdsOtherKind(o subject) bool {
	b, ok := s.slots[o.agentsKey()]
	return ok && kindIn(b) != o.kind
}
