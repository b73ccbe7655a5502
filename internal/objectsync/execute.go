package objectsync

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// execute updates copies that exist, and creates the others. Before that it records all new ones with one write.
func (p *pass) execute(ctx context.Context, plans []copyPlan) error {
	var errs []error
	var expected []copyPlan
	for _, plan := range plans {
		err := plan.refused
		switch {
		case plan.forget:
			p.state.forget(plan.of.record())
		case err != nil:
		case plan.of.copied != nil:
			err = p.update(ctx, plan)
		default:
			expected = append(expected, plan)
		}
		errs = append(errs, err)
	}
	before := p.state.clone()
	expected = slices.DeleteFunc(expected, func(plan copyPlan) bool {
		err := p.expect(plan)
		errs = append(errs, err)
		return err != nil
	})
	if len(expected) == 0 {
		return oneOf(errs...)
	}
	if err := p.save(ctx); err != nil {
		p.state = before // So that the same is not sent again, and what is remembered of others can be saved.
		return oneOf(append(errs, err)...)
	}
	for _, plan := range expected {
		err := p.holdOrigin(ctx, plan) // Else the object could go unseen, and leave the copy.
		if err == nil {
			err = p.create(ctx, plan)
		}
		errs = append(errs, err)
	}
	return oneOf(errs...)
}

// update brings a copy that is there into step with what has changed at the origin since it was last copied. What
// others have changed since then stays.
func (p *pass) update(ctx context.Context, plan copyPlan) error {
	c := plan.of
	if err := p.state.checkRoom(c, plan.remembered); err != nil {
		return err
	}
	_, other := p.in.of(c.rule.origin)
	if plan.patch != nil {
		answer, err := other.patchOf(ctx, c.to, c.copied, plan.patch)
		if apierrors.IsInvalid(err) && c.isReplaced() {
			// What cannot be changed differs. The next pass makes the copy of what is there now, as if the former had been
			// seen to go.
			_, err = p.remove(ctx, other, c.to, c.copied, nil)
			return c.named(err)
		}
		if err != nil {
			return c.named(err)
		}
		if c.isPrimary() && needed(plan.patch, c.copied.Object) != nil {
			// References are to be followed from what the copy is now.
			p.view.copied = &unstructured.Unstructured{Object: merged(c.copied.Object, plan.patch)}
			p.view.patched = true
			p.result.tell(ReasonSynced, "The desired state of the object has been synced")
		}
		c.copied = answer
	}
	p.state.remember(c, plan.remembered, false)
	if plan.status == nil {
		c.inStep = plan.noStatus == nil && (plan.patch == nil || c.rule.mutations == nil)
		return plan.noStatus
	}
	answer, err := other.patchStatus(ctx, c.to, c.copied, plan.status)
	if err == nil {
		c.copied, c.inStep = answer, c.rule.mutations == nil
	}
	return err
}

// expect remembers that a copy is about to be made. One that has been made before stays recorded as it was: what was
// copied is what a hidden one has, until it is made again.
func (p *pass) expect(plan copyPlan) error {
	c := plan.of
	if err := p.state.checkRoom(c, plan.remembered); err != nil || c.isMade() {
		return err
	}
	p.state.remember(c, plan.remembered, true)
	if at := c.to.NamespacedName(); c.isPrimary() && p.state.copy.NamespacedName != at {
		p.state.copy = location{NamespacedName: at}
	}
	return nil
}

// create creates a copy. If it fails, the copy stays recorded as about to be made, so that the next try writes nothing
// but the copy.
func (p *pass) create(ctx context.Context, plan copyPlan) error {
	c := plan.of
	_, other := p.in.of(c.rule.origin)
	answer, err := p.createIn(ctx, other, plan)
	switch {
	case !apierrors.IsAlreadyExists(err):
	case c.isPrimary():
		err = p.meet(ctx, plan)
	case other.ofWorkspace && confirmMissing(ctx, other, c.to) == nil:
		err = NewClaimRefusal(c.to.GVR().GroupResource()) // A permission claim may show only objects with some labels.
	default:
		err = awaited(c.to)
	}
	if err != nil {
		return c.named(errors.Wrapf(err, "cannot create %s", c.to))
	}
	if c.isPrimary() {
		p.result.Copy = c.to.NamespacedName()
		p.result.tell(ReasonPlaced, "The provider of the service has created a copy of the object")
		return nil
	}
	c.copied, c.inStep = answer, c.rule.mutations == nil // Steps may see more of a copy that is there.
	p.state.remember(c, plan.remembered, false)
	return nil
}

// createIn creates an object on a side, and its namespace if that is missing: as configured on the service cluster,
// without anything in a workspace.
func (p *pass) createIn(ctx context.Context, side Side, plan copyPlan) (answer *unstructured.Unstructured, err error) {
	r, u := plan.of.to.GVR(), plan.create
	if err = p.claim(ctx, plan.of); err == nil {
		answer, err = side.create(ctx, r, u)
	}
	if d := missing(err); d == nil || d.Kind != Namespaces.Resource || u.GetNamespace() == "" {
		return answer, err
	}
	t := p.syncer.namespaces
	if side.ofWorkspace {
		t = nil
	}
	ns, err := t.make(u.GetNamespace(), p.view.workspace.Data())
	if err != nil {
		return nil, err
	}
	claims := plan.of.claims(true)
	if claims {
		ns.Object = merged(ns.Object, at([]string{"metadata", "labels", LabelCopiesOf}, p.view.id.Cluster))
	}
	_, err = side.create(ctx, Namespaces, ns)
	if err == nil && claims {
		p.in.Claimed.Store(u.GetNamespace(), &claimed{is: true, of: p.view.id.Cluster})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, errors.Wrapf(err, "cannot create namespace %q", u.GetNamespace())
	}
	return side.create(ctx, r, u)
}

// claim labels the namespace of a copy with its workspace, or as one of several workspaces, before the copy is made.
// The error says if there is no such namespace.
func (p *pass) claim(ctx context.Context, c *copySync) error {
	name, cluster := c.to.Namespace, p.view.id.Cluster
	if name == "" || !c.claims(false) {
		return nil
	}
	v, _ := p.in.Claimed.LoadOrStore(name, &claimed{})
	known, _ := v.(*claimed)
	known.Lock()
	defer known.Unlock()
	if known.is && (known.of == cluster || known.of == "") {
		return nil
	}
	o := Resource{GroupVersionResource: Namespaces, Kind: "Namespace"}.ref(types.NamespacedName{Name: name})
	// The first copy of an empty namespace costs no read. Elsewhere the label is there, most likely.
	if all, err := p.in.Service.Cache(c.to.GVR()).Select(name, labels.Everything()); err == nil && len(all) == 0 {
		_, err = p.in.Service.Writer.Patch(ctx, o, labelIfNone(cluster))
		if known.is = err == nil; known.is {
			known.of = cluster
		}
		if !apierrors.IsInvalid(err) {
			return p.in.Service.explain(err, Namespaces, nil)
		}
	}
	ns, err := p.in.Service.Writer.Live(ctx, o)
	if err != nil {
		return errors.Wrapf(p.in.Service.explain(err, Namespaces, nil), "cannot tell whose namespace %q is", name)
	}
	of, labelled := ns.GetLabels()[LabelCopiesOf]
	switch {
	case !labelled:
		of = cluster
	case of != cluster:
		of = ""
	}
	if body := needed(at([]string{"metadata", "labels", LabelCopiesOf}, of), ns.Object); body != nil {
		body = merged(body, at([]string{"metadata", "resourceVersion"}, ns.GetResourceVersion()))
		if _, err := p.in.Service.patch(ctx, o, ns, body); err != nil {
			return err
		}
	}
	known.is, known.of = true, of
	return nil
}

// labelIfNone returns the JSON patch that labels a namespace with a logical cluster, which fails where the label is.
func labelIfNone(cluster string) []byte {
	path := "/metadata/labels/" + strings.ReplaceAll(LabelCopiesOf, "/", "~1")
	return fmt.Appendf(nil, `[{"op":"test","path":%[1]q,"value":null},{"op":"add","path":%[1]q,"value":%[2]q}]`,
		path, cluster)
}

// A claimed namespace has label LabelCopiesOf with a value. Who looks for that has the lock: many may at once.
type claimed struct {
	sync.Mutex

	is bool // else it is not known
	of string
}

// meet makes what has the name of a new copy the copy, if it may.
func (p *pass) meet(ctx context.Context, plan copyPlan) error {
	found, err := p.in.Service.Writer.Live(ctx, plan.of.to)
	if err != nil {
		return err
	}
	body, err := p.adopt(plan, found)
	if err != nil || body == nil {
		return err
	}
	_, err = p.in.Service.patchOf(ctx, plan.of.to, found, body)
	return err
}

// holdOrigin keeps a related object of the workspace from going before its copy. That is remembered first: if the
// answer is lost, and the consumer refers to another object by the next pass, nobody would let go of it.
func (p *pass) holdOrigin(ctx context.Context, plan copyPlan) error {
	if !plan.hold {
		return nil
	}
	answer, err := p.in.hold(ctx, plan.of.from, plan.of.origin)
	if err == nil {
		plan.of.origin = answer
	}
	return err
}

// holdOrigins does so for copies that were there before.
func (p *pass) holdOrigins(ctx context.Context, plans []copyPlan) error {
	var errs []error
	for _, plan := range plans {
		if plan.create == nil && p.secret.stored.isMade(plan.of.record()) {
			errs = append(errs, p.holdOrigin(ctx, plan))
		}
	}
	return oneOf(errs...)
}

// syncStatus copies the status of the copy up. That there is no copy is asked before its status goes: the watch does
// not show one that has lost our labels.
func (p *pass) syncStatus(ctx context.Context) error {
	body, err := p.planStatus()
	if err != nil || body == nil {
		return err
	}
	if p.view.copied == nil {
		if is, err := p.isThere(ctx); err != nil || is {
			return err
		}
	}
	w, ref := p.in.Workspace, p.view.ref
	now, err := get(w.Side, ref)
	if err != nil {
		return err
	}
	if now == nil || now.GetUID() != p.view.source.GetUID() {
		return awaited(ref)
	}
	answer, err := w.patchStatus(ctx, ref, now, body)
	if err != nil || answer.GetResourceVersion() == now.GetResourceVersion() {
		return err // The workspace has pruned all of it, and has nothing new.
	}
	p.result.tell(ReasonStatusSynced, "The status of the object has been updated")
	return nil
}

// isThere asks the service cluster whether the copy is where it is looked for, whosever it is by now.
func (p *pass) isThere(ctx context.Context) (bool, error) {
	at := p.syncer.copyRef(p.view.location())
	if at.Name == "" {
		return false, nil
	}
	u, err := p.in.Service.Writer.Live(ctx, at)
	if IsMissing(err, at.Name) {
		return false, nil
	}
	is := err == nil && (p.view.isCopy(u) || u.GetUID() == p.view.stored.copy.UID && u.GetUID() != "")
	return is, errors.Wrapf(err, "cannot read %s", at)
}

// save writes what the state is to be by now. If the copy tells whose it is, the state does, too.
func (p *pass) save(ctx context.Context) error {
	at, is := location{}, p.view.copied
	if is != nil && p.whole { // Until all is known that may be found by marks, the state does not say where the copy is.
		at = location{nameOf(is), is.GetUID()}
	}
	return p.secret.save(ctx, &p.state, at, is != nil && is.GetAnnotations()[AnnotationPublication] != "")
}

// relate brings all related objects into step. One that cannot be is no reason to leave others.
func (p *pass) relate(ctx context.Context, both related.View) error {
	f := newFinder(p, both)
	var all []*copySync
	var errs []error
	unknown := map[string]bool{} // the identifiers whose objects are not all known
	p.whole = true
	for _, r := range p.syncer.related {
		found, err := f.find(ctx, r)
		p.result.Related = f.holdings
		p.whole, unknown[r.identifier] = p.whole && err == nil, err != nil
		if apierrors.IsConflict(err) {
			// A cache that is not filled yet: the state would be written once for each identifier that is known by now.
			return err
		}
		all, errs = append(all, found...), append(errs, err)
	}
	plans := p.planAll(ctx, all)
	errs = append(errs, p.execute(ctx, plans), p.forget(ctx, all, unknown), p.save(ctx), p.holdOrigins(ctx, plans))
	p.noteInStep(all)
	if p.view.agents {
		errs = append(errs, p.claim(ctx, p.primary(p.syncer.copyRef(nameOf(both.Service)))))
	}
	if body := p.planAnnotations(all, unknown, &p.state); body != nil {
		_, err := p.in.Workspace.patchOf(ctx, p.view.ref, p.view.source, body)
		errs = append(errs, err)
	}
	for i := range p.result.Related {
		h := &p.result.Related[i]
		h.Kept = p.state.isMade(h.Record)
	}
	return oneOf(errs...)
}

// forget deletes the copies of related objects that are gone, and their records. What is unknown stays.
func (p *pass) forget(ctx context.Context, all []*copySync, unknown map[string]bool) error {
	here, missing := map[Record]bool{}, map[Record]bool{}
	used := map[string]bool{p.state.contentKey(p.primary(Ref{})): true}
	for _, c := range all {
		missing[c.record().plain()] = c.origin == nil && c.unread == nil
		here[c.record().plain()] = here[c.record().plain()] || c.isHere()
		used[p.state.contentKey(c)] = true
	}
	var errs []error
	for _, r := range p.state.list() {
		if !here[r.plain()] && !slices.ContainsFunc(p.syncer.related, func(x *copyRule) bool {
			return unknown[x.identifier] && x.relates(r.Record) // One of its kind that cannot be told may be this one.
		}) {
			errs = append(errs, p.removeRelated(ctx, r, missing[r.plain()], false))
		}
	}
	if p.whole { // What api-syncagent remembers of objects that are not known has no record.
		p.state.prune(used)
	}
	return oneOf(errs...)
}
