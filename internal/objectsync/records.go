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

// remember records a related object.
func (p *pass) remember(m relation) {
	is := m.record()
	p.state.reserveSlot(p.subjectOf(is))
	p.state.pending.removeFunc(is.origin(), is.same)
	p.state.records.add(is)
	p.noteUID(m)
}

// disown forgets a related object.
func (p *pass) disown(r Record) {
	key := p.state.key(p.subjectOf(r))
	p.state.records.remove(r)
	p.state.pending.remove(r)
	rest := p.siblings(r)
	if !slices.ContainsFunc(rest, func(x Record) bool { return p.state.key(p.subjectOf(x)) == key }) {
		p.state.clear(key)
	}
	if len(rest) == 0 && r.Origin == v1alpha1.OriginService {
		p.state.dropUID(r.From.Plain())
	}
}

// siblings returns the other records of the same object at the origin.
func (p *pass) siblings(r Record) []Record {
	return slices.DeleteFunc(p.state.copiesOf(r.origin()), func(x Record) bool { return x == r })
}

// doubled reports whether another record is of the same copy: under another identifier, or in another version.
func (p *pass) doubled(r Record) bool {
	return slices.ContainsFunc(p.siblings(r), r.same)
}

// forget removes the copies of related objects that the primary no longer refers to or that are gone at the origin, and
// what is remembered of them. What is not known stays.
func (p *pass) forget(ctx context.Context, all []relation, known map[string]bool) error {
	named, alive := map[Record]bool{}, map[Record]bool{}
	for _, m := range all {
		if p.Undone && m.related.origin == v1alpha1.OriginKCP && m.origin == nil {
			named[m.record()] = true
			continue
		}
		if r := m.record(); m.origin != nil && m.origin.GetDeletionTimestamp() == nil {
			named[r], alive[r.plain()] = true, true
		}
	}
	configured := map[string]bool{}
	for _, r := range p.related {
		configured[r.identifier] = true
	}
	var errs []error
	for _, r := range p.state.all() {
		if named[r] || configured[r.Identifier] && !known[r.Identifier] {
			continue
		}
		if alive[r.plain()] && !p.doubled(r) {
			continue // It has another identifier by now, or another version, and has not been copied under that yet.
		}
		if _, err := p.dissolve(ctx, r); err != nil {
			errs = append(errs, err)
		}
	}
	if len(known) == len(p.related) { // What api-syncagent remembers of objects that are not known has no record.
		p.pruneState()
	}
	return oneOf(errs)
}

// pruneState forgets objects that nothing refers to.
func (p *pass) pruneState() {
	keep := []subject{p.subject()}
	for _, r := range p.state.all() {
		keep = append(keep, p.subjectOf(r))
	}
	for _, h := range p.result.Related {
		keep = append(keep, p.subjectOf(h.Record))
	}
	p.state.prune(keep...)
}

// dissolve deletes the copy of a related object and then removes our finalizer from the object at the origin, unless
// others of the workspace keep them, or other records of this primary. Who refers to it and has not copied it yet makes
// a copy of its own, and nobody needs one of an object that is gone or being deleted. What somebody else has made
// stays. It says whether all of that is done.
func (p *pass) dissolve(ctx context.Context, r Record) (done bool, err error) {
	if p.doubled(r) {
		p.Holders.Drop(p.holding(r))
		p.disown(r)
		return true, nil
	}
	origin, other := p.sides(r.Origin)
	now := p.served(r)
	u, err := p.get(origin, now.From)
	if err != nil {
		return false, err
	}
	if u == nil {
		if err := p.confirmGone(ctx, r, now.From); err != nil {
			return false, err
		}
	}
	strange, err := p.strange(r, other)
	if err != nil {
		return false, err
	}
	// First, so that of two who let go at a time one sees that nobody else is left.
	p.Holders.Drop(p.holding(r))
	var needed []Holding
	if u != nil && u.GetDeletionTimestamp() == nil {
		needed = p.others(r)
	}
	if !strange && !slices.ContainsFunc(needed, func(h Holding) bool { return h.plain() == r.plain() }) {
		if err := p.confirmCopyGone(ctx, r, now.To); err != nil {
			return false, err
		}
		if gone, err := p.remove(ctx, other, now.To); err != nil || !gone {
			return false, err
		}
	}
	if r.Origin == v1alpha1.OriginKCP && len(needed)+len(p.siblings(r)) == 0 && u != nil {
		if err := p.releaseOrigin(ctx, now.From, u); err != nil {
			return false, err
		}
	}
	p.disown(r)
	return true, nil
}

// confirmGone fails if it is not certain that a related object of the workspace is gone which our finalizer has held:
// what a workspace hides by a permission claim is not.
func (p *pass) confirmGone(ctx context.Context, r Record, from Ref) error {
	if r.Origin != v1alpha1.OriginKCP || p.Workspace.Writer == nil || !p.state.records.has(r) {
		return nil
	}
	return confirmMissing(ctx, p.Workspace.Writer, from)
}

// confirmCopyGone returns an error if a cache does not show the copy of a related object, and the server does not
// confirm that it is gone. A workspace may just have hidden it, and the cache may lag behind a creation that was not
// answered. It asks nothing for a workspace that is gone, which has no writer.
func (p *pass) confirmCopyGone(ctx context.Context, r Record, to Ref) error {
	_, other := p.sides(r.Origin)
	if other.Writer == nil || r.Origin == v1alpha1.OriginKCP && !p.state.pending.has(r) {
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
	case IsMissing(err, o.Name):
		return nil
	case err == nil: // It is about to be shown again.
		return apierrors.NewConflict(o.GVR().GroupResource(), o.Name, errors.New("the watch does not show it yet"))
	case apierrors.IsForbidden(err) && writesToWorkspace(w):
		return NewClaimRefusal(o.GVR().GroupResource())
	}
	return errors.Wrapf(err, "cannot tell whether %s is gone", o)
}

// announce tells the consumer by annotations which objects of the workspace have come from the service cluster. What it
// has told of identifiers whose objects are not all known stays.
func (p *pass) announce(ctx context.Context, all []relation, known map[string]bool) error {
	want := map[string]any{}
	index := map[string]int{}
	for _, m := range all {
		if m.related.origin != v1alpha1.OriginService || m.origin == nil || !p.state.records.has(m.record()) {
			continue
		}
		value, err := json.Marshal(struct {
			Namespace  string `json:"namespace,omitempty"`
			Name       string `json:"name"`
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}{m.to.Namespace, m.to.Name, m.to.apiVersion(), m.to.Kind})
		if err != nil {
			return errors.New("cannot encode annotation")
		}
		want[fmt.Sprintf("%s%s.%d", AnnotationRelatedPrefix, m.identifier, index[m.identifier])] = string(value)
		index[m.identifier]++
	}
	change := diff(p.announced(known), want)
	if change == nil {
		return nil
	}
	return patch(ctx, p.Workspace.Writer, p.workspaceRef(),
		map[string]any{"metadata": map[string]any{"annotations": change}})
}

// isAnnounced reports whether the consumer was told of a copy in its workspace. That is in the hands of the consumer,
// as all of the workspace is.
func (p *pass) isAnnounced(m relation) bool {
	want := fmt.Sprintf("%s%s.", AnnotationRelatedPrefix, m.identifier)
	for key, value := range p.source.GetAnnotations() {
		var is struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			Kind      string `json:"kind"`
		}
		if strings.HasPrefix(key, want) && json.Unmarshal([]byte(value), &is) == nil &&
			is.Namespace == m.to.Namespace && is.Name == m.to.Name && is.Kind == m.to.Kind {
			return true
		}
	}
	return false
}

// announced returns what the consumer has been told of all but the identifiers whose objects are not all known.
func (p *pass) announced(known map[string]bool) map[string]any {
	out := map[string]any{}
	for key, value := range p.source.GetAnnotations() {
		if strings.HasPrefix(key, AnnotationRelatedPrefix) {
			out[key] = value
		}
	}
	for _, r := range p.related {
		if !known[r.identifier] {
			maps.DeleteFunc(out, func(key string,
				_ any,
			) bool {
				return strings.HasPrefix(key, AnnotationRelatedPrefix+r.identifier+".")
			})
		}
	}
	return out
}
