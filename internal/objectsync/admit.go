package objectsync

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// admit says whether a related object may be copied to where it is to be. If not, its copy is no longer one that is about to be made.
func (p *pass) admit(m relation, both primaries) error {
	err := p.judge(m, both)
	if err != nil {
		p.waive(m, p.state.pending)
	}
	return err
}

func (p *pass) judge(m relation, both primaries) error {
	if err := p.bar(m); err != nil {
		return err
	}
	if p.recorded(m) {
		return nil
	}
	if p.taken(m.record()) {
		return errors.Wrapf(ErrForeign, "%s is of an object of another workspace", m.to)
	}
	if p.bequeathed(m) {
		return nil
	}
	if p.claimed(m, both) {
		return errors.Wrapf(ErrForeign, "%s is of an object of another workspace", m.from)
	}
	if m.copied != nil && !p.shares(m) && !p.inherits(m) && !p.resumes(m) {
		if p.isAboutToBeMade(m) {
			return awaited(m)
		}
		return errors.Wrapf(ErrForeign, "%s", m.to)
	}
	if m.related.origin == v1alpha1.OriginService && m.chosen && !p.concerns(m.origin, both) {
		return errors.Wrapf(ErrForeign, "%s was there before the object that refers to it", m.from)
	}
	return nil
}

// bar refuses what is never copied, whatever has been recorded: states, which tell what is to be deleted, and an object to its own kind as
// related to itself, as both would be remembered in one place.
func (p *pass) bar(m relation) error {
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

// isState says whether an object of the service cluster is a state, or is named like one. Nil is one that is not there.
func (s *Syncer) isState(r Ref, u *unstructured.Unstructured) bool {
	if r.GVR() != Secrets {
		return false
	}
	return s.NamesState(r.NamespacedName()) || u != nil && u.GetLabels()[LabelState] != ""
}

// recorded says whether the copy of a related object has been recorded, under whatever identifier and in whatever version.
func (p *pass) recorded(m relation) bool {
	is := m.record().plain()
	return slices.ContainsFunc(p.state.records, func(r Record) bool { return r.plain() == is })
}

// bequeathed says whether api-syncagent has copied a related object: it remembers objects, but not where their copies are. What we have
// remembered is recorded, too, so that a copy of it which is not is somebody else's.
func (p *pass) bequeathed(m relation) bool {
	is := m.record().plain()
	return p.stored.get(p.subjectOf(m.record())) != nil && !slices.ContainsFunc(p.stored.all(), func(r Record) bool {
		return r.Origin == is.Origin && r.plain().From == is.From
	})
}

// taken says whether the copy of a related object would be one that another workspace has.
func (p *pass) taken(r Record) bool {
	if r.Origin == v1alpha1.OriginService {
		return false // Each workspace has its own.
	}
	return slices.ContainsFunc(p.Holders.Holdings("", r.To), func(h Holding) bool { return h.Kept && h.Primary.Cluster != p.id.Cluster })
}

// claimed says whether another workspace has a related object, or refers to one that does not tell that it is for this primary.
func (p *pass) claimed(m relation, both primaries) bool {
	return slices.ContainsFunc(p.Holders.Holdings(p.clusterOf(m.related.origin), m.from), func(h Holding) bool {
		return h.Primary.Cluster != p.id.Cluster && (h.Kept || !both.own(m.origin))
	})
}

// concerns says whether an object of the service cluster, whose name the consumer alone has chosen, has come about for the consumer: it is in
// a namespace of the workspace, or it was made after the copy, or it belongs to the copy or names it.
func (p *pass) concerns(u *unstructured.Unstructured, both primaries) bool {
	return p.Workspace.has(u.GetNamespace()) || !olderThan(u, both.service) || both.own(u)
}

// rootCluster is the logical cluster whose name is a word.
const rootCluster = "root"

// has says whether a namespace of the service cluster is named after the workspace: by its logical cluster between dashes, or by its path at
// the end, as what follows a path may be one below it.
func (w Workspace) has(namespace string) bool {
	path := strings.ReplaceAll(w.Path, ":", "-")
	switch {
	case namespace == "":
		return false
	case namespace == w.Cluster, namespace == path:
		return true
	case hasCluster(namespace, w.Cluster):
		return true
	}
	return path != w.Path && strings.HasSuffix(namespace, "-"+path)
}

// hasCluster says whether a name has that of a logical cluster in it, between dashes.
func hasCluster(name, cluster string) bool {
	return cluster != rootCluster && strings.Contains("-"+name+"-", "-"+cluster+"-")
}

// own says whether an object of the service cluster is owned by the copy, or names it in a label or annotation. A name that does not tell
// whose it is names nothing.
func (p primaries) own(u *unstructured.Unstructured) bool {
	if ownedBy(u, p.service) {
		return true
	}
	names := func(_, value string) bool { return p.telling() && value == p.service.GetName() }
	return anyOf(u.GetLabels(), names) || anyOf(u.GetAnnotations(), names)
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
		return !h.Kept || h.State == mine || h.Primary.Name == "" || h.Primary.Cluster != p.id.Cluster || h.Origin != is.Origin || h.plain().From != is.From
	})
}

// shares says whether another object of the workspace has the same copy of the same related object.
func (p *pass) shares(m relation) bool {
	is := m.record().plain()
	return slices.ContainsFunc(p.others(m.record()), func(h Holding) bool { return h.plain() == is })
}

// olderThan says whether one object was made before another. One without a time is new.
func olderThan(a, b *unstructured.Unstructured) bool {
	x, y := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return !x.IsZero() && (y.IsZero() || x.Before(&y))
}

func ownedBy(u, owner *unstructured.Unstructured) bool {
	for _, r := range u.GetOwnerReferences() {
		if r.UID != "" && r.UID == owner.GetUID() {
			return true
		}
	}
	return false
}
