package objectsync

import (
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// admit reports whether a related object may be copied to where it is to be. If not, its copy is no longer one that is
// about to be made.
func (p *relatedSync) admit(m relation) error {
	err := p.judge(m)
	if is, ok := p.state.records.get(m.record()); err != nil && ok && !is.made {
		p.state.disown(is.Record, p.id.Cluster)
	}
	return err
}

func (p *relatedSync) judge(m relation) error {
	if err := p.checkForbidden(m); err != nil {
		return err
	}
	is, known := p.state.records.get(m.record())
	switch {
	case known && m.copied != nil && !p.isRecorded(is, m.copied):
		return errors.Wrapf(ErrForeign, "%s", m.to)
	case is.made && !p.isReplaced(m):
		return nil
	case p.taken(m.record()):
		return errors.Wrapf(ErrForeign, "%s is of an object of another workspace", m.to)
	case p.copiedByAgent(m):
		return nil
	}
	if err := p.checkAccess(m); err != nil {
		return err
	}
	if p.claimed(m) {
		return errors.Wrapf(ErrForeign, "%s is of an object of another workspace", m.from)
	}
	if m.copied == nil || known || p.isFound(m) {
		return nil
	}
	return errors.Wrapf(ErrForeign, "%s", m.to)
}

// checkForbidden refuses what is never copied, whatever has been recorded: states, which tell what is to be deleted,
// and an object to its own kind as related to itself, as both would be remembered in one place.
func (p *relatedSync) checkForbidden(m relation) error {
	if below, u := m.below(); p.isState(below, u) {
		return errors.Wrapf(ErrForeign, "%s is the state of an object", below)
	}
	is := p.subjectOf(m.record())
	if is.record = (Record{}); is == p.id.subject() {
		return errors.Wrapf(ErrForeign, "%s is related to itself", m.from)
	}
	return nil
}

// isState reports whether an object of the service cluster is a state, or is named like one. Nil is one that is not
// there.
func (s *Syncer) isState(r Ref, u *unstructured.Unstructured) bool {
	if r.GVR() != Secrets {
		return false
	}
	return s.NamesState(r.NamespacedName()) || u != nil && u.GetLabels()[LabelState] != ""
}

// recorded reports whether the copy of a related object has been recorded, under whatever identifier and in whatever
// version.
func (p *relatedSync) recorded(m relation) bool {
	is, _ := p.state.records.get(m.record())
	return is.made
}

// copiedByAgent reports whether api-syncagent has copied a related object: it remembers objects, but not where their
// copies are. What we have remembered is recorded, too, so that a copy of it which is not is somebody else's.
func (p *relatedSync) copiedByAgent(m relation) bool {
	is := p.subjectOf(m.record())
	return kindIn(p.stored.slots[is.agentsKey()]) == is.kind && len(p.stored.records[m.record().origin()]) == 0
}

// madeByAgent reports whether api-syncagent has made the copy of a related object of the workspace, and has remembered
// another object of that name in its place. It is so if the agent holds the object, the object it belongs to is as the
// agent has left it, and the copy is all that it would be and no more: then nothing is overwritten.
func (p *relatedSync) madeByAgent(m relation) bool {
	if m.copyRule.origin != v1alpha1.OriginKCP || !p.agents || !HasFinalizer(m.origin) ||
		!p.stored.holdsOtherKind(p.subjectOf(m.record())) {
		return false
	}
	desired, err := p.desired(m, m.copied)
	return err == nil && len(desired) > 0 && diff(content(m.copied, m.copies().Status), desired) == nil
}
