package objectsync

import (
	"context"
	"crypto/sha256"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

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
	clear(p.in.InStep)
	for _, c := range all {
		if c.inStep && (c.rule.origin == v1alpha1.OriginService || HasFinalizer(c.origin)) {
			p.in.InStep[c.record().plain()] = p.versions(c)
		}
	}
}
