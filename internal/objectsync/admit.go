package objectsync

import (
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
)

// destination returns where naming has the copy. An error beside it refuses that for a new copy.
func (p planner) destination() (Ref, error) {
	n, err := p.syncer.namer.Name(p.view.naming())
	if err != nil {
		return Ref{}, err
	}
	to := p.syncer.copyRef(n)
	if p.syncer.isState(to, nil) {
		return to, errors.Wrapf(ErrForeign, "%s is the state of an object", to)
	}
	_, by := p.syncer.namer.Who()
	if by == naming.Consumer && (naming.IsSystem(to.Namespace) || to.Namespace == p.syncer.stateNamespace) {
		return to, errors.Wrapf(ErrForeign, "namespace %s is not for consumers to name", to.Namespace)
	}
	return to, nil
}

// admit fails if a related object may not be copied to where it is to be.
func (p planner) admit(c *copySync) error {
	if c.isPrimary() {
		return nil
	}
	if err := p.checkForbidden(c); err != nil {
		return err
	}
	switch {
	case c.recorded != nil && c.copied != nil && !isRecorded(*c.recorded, c.copied, p.view.id.Cluster):
		return errors.Wrapf(ErrForeign, "%s", c.to)
	case c.isMade() && !c.isReplaced():
		return nil
	case c.taken:
		return errors.Wrapf(ErrForeign, "%s is of an object of another workspace", c.to)
	case c.byAgent:
		return nil
	case c.closed != nil:
		return c.closed
	case c.claimed, c.wanted && !c.owned:
		return errors.Wrapf(ErrForeign, "%s is of an object of another workspace", c.from)
	case c.copied == nil, c.recorded != nil, p.isFound(c):
		return nil
	}
	return errors.Wrapf(ErrForeign, "%s", c.to)
}

// checkForbidden refuses what is never copied, whatever has been recorded: states, which tell what is to be deleted,
// and an object to its own kind as related to itself, as both would be remembered in one place.
func (p planner) checkForbidden(c *copySync) error {
	if below, u := c.below(); p.syncer.isState(below, u) {
		return errors.Wrapf(ErrForeign, "%s is the state of an object", below)
	}
	if c.rule.origin == v1alpha1.OriginKCP && c.from.Plain() == p.view.ref.Plain() {
		return errors.Wrapf(ErrForeign, "%s is related to itself", c.from)
	}
	return nil
}

// isFound reports whether what is in the place of a copy is the copy, although this object has not recorded it: another
// object of the workspace has recorded it, or api-syncagent has made it. If the state was lost, or other objects of the
// workspace have or make the same copy, our mark on it is enough.
func (p planner) isFound(c *copySync) bool {
	return c.shared || (p.view.lost || c.alike) && p.isMarked(c) || p.madeByAgent(c)
}

func (p planner) isMarked(c *copySync) bool { return isMarked(c.record(), c.copied, p.view.id.Cluster) }

// madeByAgent reports whether api-syncagent has made the copy of a related object, and has remembered another object of
// that name in its place. It is so if the agent holds what it has copied of the workspace, the object it belongs to is
// as the agent has left it, and the copy is all that it would be and no more: then nothing is overwritten.
func (p planner) madeByAgent(c *copySync) bool {
	if !p.view.agents || c.origin == nil || c.rule.origin == v1alpha1.OriginKCP && !HasFinalizer(c.origin) ||
		!p.view.stored.holdsOtherKind(c) {
		return false
	}
	is, err := p.contentOf(c, c.copied)
	return err == nil && len(is) > 0 && diff(content(c.copied, c.rule.copies().Status), is) == nil
}

// isAgents reports whether api-syncagent has made the copy of a related object. It has not recorded that.
func (p planner) isAgents(c *copySync) bool {
	return p.checkForbidden(c) == nil && !c.taken && (c.byAgent || c.copied != nil && p.madeByAgent(c))
}

// isState reports whether an object of the service cluster is a state, or is named like one. Nil is one that is not
// there.
func (s *Syncer) isState(r Ref, u *unstructured.Unstructured) bool {
	if r.GVR() != Secrets {
		return false
	}
	return s.NamesState(r.NamespacedName()) || u != nil && u.GetLabels()[LabelState] != ""
}
