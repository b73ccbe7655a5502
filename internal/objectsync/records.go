package objectsync

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// remember records a related object whose copy has been made or, not made, is about to be.
func (p *relatedSync) remember(m relation, made bool) {
	r := recorded{Record: m.record(), made: made}
	if m.origin != nil {
		r.UID = m.origin.GetUID()
	}
	if made && m.copied != nil {
		r.CopyUID = m.copied.GetUID()
	}
	p.state.records.set(r)
}

// forget removes the copies of related objects that the primary no longer refers to or that are gone at the origin, and
// what is remembered of them. What is not known stays.
func (p *relatedSync) forget(ctx context.Context) error {
	alive := map[Record]bool{}
	for _, m := range p.all {
		undone := p.Undone && m.copyRule.origin == v1alpha1.OriginKCP && m.origin == nil
		if undone || m.origin != nil && m.origin.GetDeletionTimestamp() == nil {
			alive[m.record().plain()] = true
		}
	}
	var errs []error
	for _, r := range p.state.records.all() {
		if alive[r.plain()] || slices.ContainsFunc(p.related, func(x *copyRule) bool {
			return !p.known[x.identifier] && x.relates(r.Record) // One of its kind that cannot be told may be this one.
		}) {
			continue
		}
		if _, err := p.dissolve(ctx, r); err != nil {
			errs = append(errs, err)
		}
	}
	if p.whole { // What api-syncagent remembers of objects that are not known has no record.
		p.pruneState()
	}
	return oneOf(errs...)
}

// pruneState forgets objects that nothing refers to.
func (p *relatedSync) pruneState() {
	keep := []subject{p.id.subject()}
	for _, r := range p.state.records.all() {
		keep = append(keep, p.subjectOf(r.Record))
	}
	for _, m := range p.all {
		keep = append(keep, p.subjectOf(m.record()))
	}
	p.state.prune(keep...)
}

// dissolve deletes the copy of a related object and then removes our finalizer from the object at the origin, unless
// others of the workspace keep them, or this primary has another copy. Who refers to it and has not copied it yet makes
// a copy of its own, and nobody needs one of an object that is gone or being deleted. What somebody else has made
// stays. It reports whether all of that is done.
func (p *pass) dissolve(ctx context.Context, r recorded) (done bool, err error) {
	origin, other := p.sides(r.Origin)
	now := p.served(r.Record)
	u, err := p.get(origin, now.From)
	if err != nil {
		return false, err
	}
	if u == nil {
		if err := p.confirmGone(ctx, r, now); err != nil {
			return false, err
		}
	}
	copied, err := p.get(other, now.To)
	if err != nil {
		return false, err
	}
	p.drop(r.Record)
	var needed []Holding
	if u != nil && u.GetDeletionTimestamp() == nil {
		needed = p.others(r.Record)
	}
	isOurs := copied == nil || p.isRecorded(r, copied)
	if isOurs && !slices.ContainsFunc(needed, func(h Holding) bool { return h.plain() == r.plain() }) {
		if err := p.confirmCopyGone(ctx, r, now.To); err != nil {
			return false, err
		}
		if gone, err := p.remove(ctx, other, now.To); err != nil || !gone {
			return false, err
		}
	}
	if r.Origin == v1alpha1.OriginKCP && len(needed) == 0 && len(p.state.records[r.origin()]) == 1 && u != nil {
		if err := p.releaseOrigin(ctx, now.From, u); err != nil {
			return false, err
		}
	}
	p.state.disown(r.Record, p.id.Cluster)
	return true, nil
}

// confirmGone fails if it is not certain that a related object of the workspace is gone which our finalizer has held:
// what a workspace hides by a permission claim is not. That is asked first: kcp shows objects before it calls a claim
// applied. Without a copy nothing can be lost.
func (p *pass) confirmGone(ctx context.Context, r recorded, now Record) error {
	if r.Origin != v1alpha1.OriginKCP || p.Workspace.Writer == nil || !r.made {
		return nil
	}
	if copied, err := p.get(p.Service, now.To); err != nil || copied == nil {
		return err
	}
	shown, err := p.Workspace.ShowsAll(ctx, now.From.GVR().GroupResource())
	if err == nil && !shown {
		err = newHiddenRefusal(now.From)
	}
	if err != nil {
		return err
	}
	return confirmMissing(ctx, p.Workspace.Writer, now.From)
}

// confirmCopyGone returns an error if a cache does not show the copy of a related object, and the server does not
// confirm that it is gone. A workspace may just have hidden it, and the cache may lag behind a creation that was not
// answered. It asks nothing for a workspace that is gone, which has no writer.
func (p *pass) confirmCopyGone(ctx context.Context, r recorded, to Ref) error {
	_, other := p.sides(r.Origin)
	if other.Writer == nil || r.Origin == v1alpha1.OriginKCP && r.made {
		return nil
	}
	u, err := other.Cache(to.GVR()).Get(to.NamespacedName())
	if r.Origin == v1alpha1.OriginKCP && apierrors.IsNotFound(err) {
		return nil // The service cluster does not serve it.
	}
	if err != nil || u != nil {
		return err
	}
	return confirmMissing(ctx, other.Writer, to)
}

// confirmMissing asks the server for an object that the cache does not show. It returns nil only if there is none.
func confirmMissing(ctx context.Context, w Writer, o Ref) error {
	_, err := w.Live(ctx, o)
	switch {
	case isMissing(err, o.Name):
		return nil
	case err == nil: // It is about to be shown again.
		return awaited(o)
	case apierrors.IsForbidden(err) && writesToWorkspace(w):
		return NewClaimRefusal(o.GVR().GroupResource())
	}
	return errors.Wrapf(err, "cannot tell whether %s is gone", o)
}

// An announcement tells the consumer, in an annotation, of an object of its workspace that has come from the service
// cluster.
type announcement struct {
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// announce tells the consumer by annotations which objects of the workspace have come from the service cluster. What it
// has told of identifiers whose objects are not all known stays.
func (p *relatedSync) announce(ctx context.Context) error {
	want := map[string]any{}
	index := map[string]int{}
	for _, m := range p.all {
		if m.copyRule.origin != v1alpha1.OriginService || m.origin == nil || !p.recorded(m) {
			continue
		}
		value, err := json.Marshal(announcement{m.to.Namespace, m.to.Name, m.to.apiVersion(), m.to.Kind})
		if err != nil {
			return errors.New("cannot encode annotation")
		}
		want[fmt.Sprintf("%s%d", announcedAs(m.identifier), index[m.identifier])] = string(value)
		index[m.identifier]++
	}
	has := map[string]any{}
	for key, value := range p.source.GetAnnotations() {
		if strings.HasPrefix(key, AnnotationRelatedPrefix) {
			has[key] = value
		}
	}
	for _, r := range p.related {
		if !p.known[r.identifier] {
			maps.DeleteFunc(has, func(key string, _ any) bool { return strings.HasPrefix(key, announcedAs(r.identifier)) })
		}
	}
	change := diff(has, want)
	if change == nil {
		return nil
	}
	return patch(ctx, p.Workspace.Writer, p.workspaceRef(),
		map[string]any{"metadata": map[string]any{"annotations": change}})
}

// announcedAs begins the keys of annotations for one identifier.
func announcedAs(identifier string) string { return AnnotationRelatedPrefix + identifier + "." }

// isAnnounced reports whether the consumer was told of a copy in its workspace. That is in the hands of the consumer,
// as all of the workspace is.
func (p *relatedSync) isAnnounced(m relation) bool {
	for key, value := range p.source.GetAnnotations() {
		var is announcement
		if strings.HasPrefix(key, announcedAs(m.identifier)) && json.Unmarshal([]byte(value), &is) == nil &&
			is.Namespace == m.to.Namespace && is.Name == m.to.Name && is.Kind == m.to.Kind {
			return true
		}
	}
	return false
}
