package objectsync

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/internal/naming"
)

// findState returns the Secret with the state, nil if there is none.
func (p *pass) findState() (*unstructured.Unstructured, error) {
	states := p.Service.Cache(Secrets)
	named, err := states.Get(p.stateName())
	if err != nil || named != nil {
		return named, err
	}
	keyed, err := states.States(p.id.Key())
	if err != nil {
		return nil, err
	}
	found := p.ChooseState(p.me(), nil, keyed)
	if found != nil {
		p.formerState = nameOf(found)
	}
	return found, nil
}

// isCopy reports whether an object that is where the copy is to be is the copy: it says so or, if it says nothing, has
// the UID of the copy.
func (p *pass) isCopy(u *unstructured.Unstructured) bool {
	is := p.id.standingOf(u)
	return is == ours || is == unclaimed && u.GetUID() == p.stored.copy.UID && u.GetUID() != ""
}

// findCopy returns the copy, nil if there is none. It is where the state says and, without a state, where naming has
// it: what says elsewhere that it is the copy was written by somebody else. Only a state that does not say where, as
// that of api-syncagent, lets a copy that an earlier rule has named be found by what it says.
func (p *pass) findCopy() (*unstructured.Unstructured, error) {
	copies, at := p.Service.Cache(p.primary.Service.GroupVersionResource), p.stored.copy.namespacedName()
	if at.Name == "" {
		at, _ = p.namer.Name(p.naming()) // Where it fails there is no such place.
	}
	if at.Name != "" {
		if u, err := copies.Get(at); err != nil || u != nil && p.isCopy(u) {
			return u, err
		}
	}
	if !p.secret || p.stored.copy.Name != "" {
		return nil, nil //nolint:nilnil // So is none told.
	}
	all, err := copies.Copies(p.id.Key())
	all = slices.DeleteFunc(slices.Clone(all), func(u *unstructured.Unstructured) bool { return !p.isCopy(u) })
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if len(all) > 1 {
		return nil, errors.Wrapf(ErrAmbiguous, "%d objects are copies of %s", len(all), p.me())
	}
	return all[0], nil
}

// IsAt reports whether an object is where a state says that the copy is, or may be if the state does not say where. A
// Secret that is nil says that it is nowhere.
func IsAt(secret, u *unstructured.Unstructured) bool {
	var at place
	return secret != nil && readValue(secret, keyCopy, &at) == nil &&
		(at.Name == "" || at.namespacedName() == nameOf(u))
}

// isThere asks the service cluster whether the copy is where the state says.
func (p *pass) isThere(ctx context.Context) (bool, error) {
	at := p.primary.Service.ref(p.stored.copy.namespacedName())
	u, err := p.Service.Writer.Live(ctx, at)
	if isMissing(err, at.Name) {
		return false, nil
	}
	return err == nil && p.isCopy(u), errors.Wrapf(err, "cannot read %s", at)
}

// naming returns the object as rules for names see it. Of one that is gone there are the names alone.
func (p *pass) naming() naming.Source {
	source := p.source
	if source == nil {
		source = &unstructured.Unstructured{Object: map[string]any{}}
		source.SetNamespace(p.Object.Namespace)
		source.SetName(p.Object.Name)
	}
	return naming.Source{Cluster: p.id.Cluster, Path: p.Workspace.Path, Object: source}
}
