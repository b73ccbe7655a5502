package objectsync

import (
	"context"
	"crypto/sha256"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
)

// A copyPlan is what one copy needs. What follows the content is done in this order.
type copyPlan struct {
	of *copySync

	refused    error                      // why nothing is done, nil if something may be
	forget     bool                       // It is no longer about to be made.
	content    map[string]any             // what the copy is to have of the object at the origin
	remembered []byte                     // what is to be remembered of the content, nil if it is
	create     *unstructured.Unstructured // the copy to be made, nil for none
	patch      map[string]any             // of the copy, see diff; nil for none
	hold       bool                       // The related object of the workspace gets our finalizer.
	status     map[string]any             // likewise of the status of the copy
	noStatus   error                      // why the status is not known, nil if it is
}

// A planner decides what copies need. It reads and writes nothing.
type planner struct {
	syncer *Syncer
	view   *view
}

// passes reports whether the object passes the filter. One without a namespace passes none of namespaces. One that is
// held stays so while its namespace is not known.
func (p planner) passes() bool {
	f, v := p.syncer.filter, p.view
	switch {
	case f.objects != nil && !f.objects.Matches(labels.Set(v.source.GetLabels())):
		return false
	case f.namespace.Name != "":
		return v.id.Namespace == f.namespace.Name
	case f.namespace.Labels == nil:
		return true
	case v.namespace == nil:
		return v.id.Namespace != "" && HasFinalizer(v.source)
	}
	return f.namespace.Labels.Matches(labels.Set(v.namespace.GetLabels()))
}

// primary returns the object as one that is copied to a place.
func (p planner) primary(to Ref) *copySync {
	return &copySync{
		rule: &p.syncer.primary, cluster: p.view.id.Cluster, from: p.view.ref, to: to,
		origin: p.view.source, copied: p.view.copied,
	}
}

// plan decides what a copy needs, by what has been read and what is remembered.
func (p planner) plan(c *copySync, s *state) copyPlan {
	out, target := copyPlan{of: c}, c.copied
	if out.refused = p.admit(c); out.refused != nil {
		out.forget = c.recorded != nil && c.recorded.Pending
		return out
	}
	if target == nil {
		target = newCopy(c.to, c.origin.Object, map[string]any{})
	}
	if out.content, out.refused = p.contentOf(c, target); out.refused != nil {
		return out
	}
	out.hold = !c.isPrimary() && c.rule.origin == v1alpha1.OriginKCP && !HasFinalizer(c.origin)
	isNew := true
	if c.copied == nil {
		out.create = newCopy(c.to, out.content, merged(asMap(out.content["metadata"]), p.marks(c)))
	} else {
		var last map[string]any
		last, isNew = p.last(c, s, out.content)
		change := c.rule.platform.change(last, out.content)
		isNew = isNew || change != nil
		out.patch = p.bodyFor(c, c.copied, change)
		if last != nil && !same(change, needed(change, c.copied.Object)) {
			// The copy is said to have what it is not known to have got: it counts if it is still the one that was read.
			out.patch = merged(out.patch, at([]string{"metadata", "resourceVersion"}, c.copied.GetResourceVersion()))
		}
	}
	if isNew {
		out.remembered = c.encode(out.content)
	}
	if c.copied != nil && c.rule.syncStatus && c.rule.to.Status {
		var status any
		status, out.noStatus = p.statusOf(c.rule, c.origin, c.copied)
		out.status = statusPatch(c.copied, status)
	}
	return out
}

// last returns what was last copied, and whether that is not what is remembered. Of a copy of ours whose state was
// lost, and of a related one that was there before us, what differs stays. A related copy that another object of the
// workspace keeps may be behind, and so may one whose creation was not answered: all is copied.
func (p planner) last(c *copySync, s *state, content map[string]any) (last map[string]any, isNew bool) {
	if !c.isMade() && (c.recorded != nil || c.hasSiblings) {
		return nil, true
	}
	if last = s.last(c); last != nil {
		return last, false
	}
	stays := c.copied.GetAnnotations()[AnnotationKind] != ""
	if !c.isPrimary() {
		stays = p.isMarked(c) || p.syncer.config.Spec.ExistingObjects != v1alpha1.ExistingObjectsOverwrite
	}
	if stays {
		last = content
	}
	return last, true
}

// bodyFor returns the patch that a copy needs for a change of content and, if it is that of the object itself, for what
// tells whose it is. What api-syncagent does not write is no reason for a patch.
func (p planner) bodyFor(c *copySync, u *unstructured.Unstructured, change map[string]any) map[string]any {
	if !c.isPrimary() {
		return needed(change, u.Object)
	}
	all := merged(change, map[string]any{"metadata": p.marks(c)})
	if IsOrphaned(u) {
		asMap(asMap(all["metadata"])["labels"])[LabelOrphaned] = nil
	}
	body := needed(all, u.Object)
	own := at([]string{"metadata", "annotations"}, map[string]any{
		AnnotationKind: p.view.id.Kind.String(), AnnotationPublication: p.syncer.config.Publication,
	})
	if !IsOrphaned(u) && same(body, needed(own, u.Object)) {
		return nil
	}
	return body
}

// marks returns the metadata that tells whose a copy is.
func (p planner) marks(c *copySync) map[string]any {
	if c.isPrimary() {
		return map[string]any{"labels": fromTexts(p.view.id.Labels()), "annotations": fromTexts(p.view.id.Annotations())}
	}
	mark := markOf(c.record())
	if c.rule.origin == v1alpha1.OriginService {
		return map[string]any{"managedFields": []any{map[string]any{"manager": mark}}}
	}
	return map[string]any{
		"annotations": map[string]any{AnnotationRelatedObject: mark},
		"labels":      map[string]any{LabelRelatedCluster: p.view.id.Cluster},
	}
}

// adopt decides whether what has the name of a new copy becomes the copy of the object itself, and returns the patch
// for that, nil if none is needed.
func (p planner) adopt(plan copyPlan, found *unstructured.Unstructured) (map[string]any, error) {
	is, policy := p.view.id.ownershipOf(found), p.syncer.config.Spec.ExistingObjects
	name, namespace := p.syncer.namer.Who()
	adopts := policy == v1alpha1.ExistingObjectsAdopt || policy == v1alpha1.ExistingObjectsOverwrite ||
		policy != v1alpha1.ExistingObjectsRefuse && (name == naming.Workspace || namespace == naming.Workspace)
	switch {
	case is == foreign:
		return nil, ErrForeign
	case found.GetDeletionTimestamp() != nil:
		return nil, awaited(plan.of.to)
	case is == unowned && !p.view.isCopy(found) && !adopts:
		return nil, ErrExists
	}
	var change map[string]any // The rest of what differs stays until it changes at the source.
	// One with all marks is of a try that was not answered, and may have what the source was then.
	if policy == v1alpha1.ExistingObjectsOverwrite || is == ours && p.bodyFor(plan.of, found, nil) == nil {
		change = diff(nil, plan.content)
	}
	body := p.bodyFor(plan.of, found, change)
	if body == nil {
		return nil, nil //nolint:nilnil // None is needed.
	}
	return merged(body, at([]string{"metadata", "resourceVersion"}, found.GetResourceVersion())), nil
}

// byNaming returns where naming has the copy. An error beside it refuses that for a new copy.
func (p planner) byNaming() (Ref, error) {
	n, err := p.view.name()
	if err != nil {
		return Ref{}, err
	}
	to := p.syncer.copyRef(n)
	if p.syncer.isState(to, nil) {
		return to, errors.Wrapf(ErrForeign, "%s is a sync-state Secret", to)
	}
	_, by := p.syncer.namer.Who()
	if by == naming.Consumer && (naming.IsSystem(to.Namespace) || to.Namespace == p.syncer.config.StateNamespace) {
		return to, errors.Wrapf(ErrForeign, "consumers may not use namespace %s", to.Namespace)
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
	case c.copyIsForeign:
		return errors.Wrapf(ErrForeign, "%s belongs to an object of another workspace", c.to)
	case c.byAgent:
		return nil
	case c.closed != nil:
		return c.closed
	case c.originIsForeign, c.othersRefer && !c.owned:
		return errors.Wrapf(ErrForeign, "%s belongs to an object of another workspace", c.from)
	case c.copied == nil, c.recorded != nil, c.siblingsKeep, p.madeByAgent(c):
		return nil
	case (p.view.lost || c.hasSiblings) && p.isMarked(c): // Then our mark on it is enough.
		return nil
	}
	return errors.Wrapf(ErrForeign, "%s", c.to)
}

// checkForbidden refuses what is never copied, whatever has been recorded: states, which tell what is to be deleted,
// and an object to its own kind as related to itself, as both would be remembered in one place.
func (p planner) checkForbidden(c *copySync) error {
	if below, u := c.onService(); p.syncer.isState(below, u) {
		return errors.Wrapf(ErrForeign, "%s is a sync-state Secret", below)
	}
	if c.rule.origin == v1alpha1.OriginKCP && c.from.Plain() == p.view.ref.Plain() {
		return errors.Wrapf(ErrForeign, "%s cannot be a related object of itself", c.from)
	}
	return nil
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
	return err == nil && len(is) > 0 && diff(content(c.copied, c.rule.to.Status), is) == nil
}

// isAgents reports whether api-syncagent has made the copy of a related object. It has not recorded that.
func (p planner) isAgents(c *copySync) bool {
	return p.checkForbidden(c) == nil && !c.copyIsForeign && (c.byAgent || c.copied != nil && p.madeByAgent(c))
}

// isState reports whether an object of the service cluster is a state, or is named like one. Nil is one that is not
// there.
func (s *Syncer) isState(r Ref, u *unstructured.Unstructured) bool {
	if r.GVR() != Secrets {
		return false
	}
	return s.NamesState(r.NamespacedName()) || u != nil && u.GetLabels()[LabelState] != ""
}

// planAll decides what related objects need whose objects are there. What is not in the workspace is not missed. What
// may be in a closed namespace is refused whether or not it is there, which is nothing for a consumer to find out. One
// copy can have several identifiers: the first by which it may be counts. Of what is in step nothing is read, and no
// more content is held at a time than can be remembered.
func (p *pass) planAll(ctx context.Context, all []*copySync) (plans []copyPlan) {
	planned, held := map[Record]bool{}, 0
	for _, c := range all {
		is := c.record().plain()
		switch {
		case c.unread != nil && (c.rule.origin == v1alpha1.OriginService || c.origin != nil):
			plans = append(plans, copyPlan{of: c, refused: c.unread})
			continue
		case c.unread != nil || !c.isHere() || planned[is], c.copied != nil && c.copied.GetDeletionTimestamp() != nil:
			continue
		}
		if c.inStep = c.isMade() && c.copied != nil && p.in.InStep[is] == p.versions(c); c.inStep {
			planned[is] = true
			continue
		}
		if err := p.load(ctx, c); err != nil {
			plans = append(plans, copyPlan{of: c, refused: c.named(err)})
			continue
		}
		if !c.isHere() {
			continue
		}
		plan := p.plan(c, &p.state)
		if held += len(plan.remembered); held > stateMax {
			held -= len(plan.remembered)
			plan = copyPlan{of: c, refused: errors.Wrapf(ErrTooLarge, "%s", c.from)}
		}
		if plan.create == nil && plan.patch == nil && plan.status == nil {
			c.origin, c.copied, plan.content = bare(c.origin), bare(c.copied), nil
		}
		planned[is] = plan.refused == nil
		plans = append(plans, plan)
	}
	return plans
}

// load reads the content of a related object, and that of its copy if it matters.
func (p *pass) load(ctx context.Context, c *copySync) error {
	origin, other := p.in.of(c.rule.origin)
	u, err := origin.read(ctx, c.from, c.origin)
	if err != nil {
		return err
	}
	c.origin = c.rule.platform.without(specField, u)
	last := p.state.last(c)
	if c.isMade() && c.rule.mutations == nil && !c.rule.syncStatus && last != nil && c.origin != nil &&
		c.rule.platform.change(last, content(c.origin, c.rule.from.Status)) == nil {
		return nil
	}
	if u, err = other.read(ctx, c.to, c.copied); err == nil {
		c.copied = u
	}
	return err
}

// bare returns an object without its content, nil for nil.
func bare(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": u.Object["metadata"]}}
}

// versions returns what a related object and its copy, which are there, are in step by.
func (p *pass) versions(c *copySync) Versions {
	return Versions{
		Origin: c.origin.GetResourceVersion(), Copy: c.copied.GetResourceVersion(), Path: p.view.workspace.Path,
		Remembered: sha256.Sum256(p.state.contents[p.state.contentKey(c)]),
	}
}

// noteInStep has the next pass read nothing of what is in step.
func (p *pass) noteInStep(all []*copySync) {
	p.result.InStep = map[Record]Versions{}
	for _, c := range all {
		if c.inStep && (c.rule.origin == v1alpha1.OriginService || HasFinalizer(c.origin)) {
			p.result.InStep[c.record().plain()] = p.versions(c)
		}
	}
}
