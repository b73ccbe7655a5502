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
	if is, _ := p.state.records.get(m.record()); m.copied != nil && p.isAnothers(is, m.copied) {
		return errors.Wrapf(ErrForeign, "%s", m.to)
	}
	if p.recorded(m) && !p.isReplaced(m) {
		return nil
	}
	if p.taken(m.record()) {
		return errors.Wrapf(ErrForeign, "%s is of an object of another workspace", m.to)
	}
	if p.copiedByAgent(m) {
		return nil
	}
	if err := p.checkAccess(m); err != nil {
		return err
	}
	if p.claimed(m) {
		return errors.Wrapf(ErrForeign, "%s is of an object of another workspace", m.from)
	}
	if m.copied == nil || p.recorded(m) || p.shares(m.record()) || p.madeByAgent(m) || p.resumes(m) || p.isOurs(m) {
		return nil
	}
	if p.isAboutToBeMade(m.record()) {
		return awaited(m)
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

// resumes reports whether the copy of a related object was about to be made when that was last heard of, and is what it
// was to be: then it is ours, or nothing is overwritten.
func (p *relatedSync) resumes(m relation) bool {
	is, ok := p.stored.records.get(m.record())
	return ok && !is.made && p.isIntended(m.record(), m.copied)
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
	if r.To.Group == "" && (r.To.Kind == "Secret" || r.To.Kind == "ConfigMap") {
		return diff(content(copied, true), content(was, true)) == nil
	}
	return needed(content(was, false), copied.Object) == nil
}
