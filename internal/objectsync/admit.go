package objectsync

import (
	"slices"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// admit reports whether a related object may be copied to where it is to be. If not, its copy is no longer one that is
// about to be made.
func (p *pass) admit(m relation, both primaries) error {
	err := p.judge(m, both)
	if err != nil {
		p.waive(m, p.state.pending)
	}
	return err
}

func (p *pass) judge(m relation, both primaries) error {
	if err := p.checkForbidden(m); err != nil {
		return err
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
	if err := p.checkLocation(m, both); err != nil {
		return err
	}
	if p.claimed(m, both) {
		return errors.Wrapf(ErrForeign, "%s is of an object of another workspace", m.from)
	}
	if m.copied != nil && !p.recorded(m) && !p.shares(m) && !p.madeByAgent(m) && !p.resumes(m) && !p.isOurs(m) {
		if p.isAboutToBeMade(m) {
			return awaited(m)
		}
		return errors.Wrapf(ErrForeign, "%s", m.to)
	}
	return nil
}

// checkForbidden refuses what is never copied, whatever has been recorded: states, which tell what is to be deleted,
// and an object to its own kind as related to itself, as both would be remembered in one place.
func (p *pass) checkForbidden(m relation) error {
	below, u := m.to, m.copied
	if m.related.origin == v1alpha1.OriginService {
		below, u = m.from, m.origin
	}
	if p.isState(below, u) {
		return errors.Wrapf(ErrForeign, "%s is the state of an object", below)
	}
	if p.subjectOf(m.record()) == p.subject() {
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
func (p *pass) recorded(m relation) bool {
	return p.state.records.hasSame(m.record())
}

// copiedByAgent reports whether api-syncagent has copied a related object: it remembers objects, but not where their
// copies are. What we have remembered is recorded, too, so that a copy of it which is not is somebody else's.
func (p *pass) copiedByAgent(m relation) bool {
	is := m.record().origin()
	return p.stored.get(p.subjectOf(m.record())) != nil &&
		len(p.stored.records.of(is))+len(p.stored.pending.of(is)) == 0
}

// taken reports whether the copy of a related object would be one that another workspace has.
func (p *pass) taken(r Record) bool {
	if r.Origin == v1alpha1.OriginService {
		return false // Each workspace has its own.
	}
	return slices.ContainsFunc(p.Holders.Holdings("", r.To),
		func(h Holding) bool { return h.Kept && h.Primary.Cluster != p.id.Cluster })
}

// claimed reports whether another workspace has a related object, or refers to one that does not tell that it is for
// this primary.
func (p *pass) claimed(m relation, both primaries) bool {
	return slices.ContainsFunc(p.Holders.Holdings(p.clusterOf(m.related.origin), m.from), func(h Holding) bool {
		return h.Primary.Cluster != p.id.Cluster && (h.Kept || !both.own(m.origin))
	})
}

func anyOf(m map[string]string, is func(key, value string) bool) bool {
	for k, v := range m {
		if is(k, v) {
			return true
		}
	}
	return false
}

// others returns the copies of a related object that other objects of the workspace keep.
func (p *pass) others(r Record) []Holding {
	mine, is := p.stateName(), r.plain()
	return slices.DeleteFunc(p.Holders.Holdings(p.clusterOf(r.Origin), r.From), func(h Holding) bool {
		return !h.Kept || h.State == mine || h.Primary.Name == "" || h.Primary.Cluster != p.id.Cluster ||
			h.Origin != is.Origin || h.plain().From != is.From
	})
}

// shares reports whether another object of the workspace has the same copy of the same related object.
func (p *pass) shares(m relation) bool {
	is := m.record().plain()
	return slices.ContainsFunc(p.others(m.record()), func(h Holding) bool { return h.plain() == is })
}

func ownedBy(u, owner *unstructured.Unstructured) bool {
	for _, r := range u.GetOwnerReferences() {
		if r.UID != "" && r.UID == owner.GetUID() {
			return true
		}
	}
	return false
}
