package objectsync

import (
	"slices"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// A view is what has been read of one object, before anything is decided. Related objects follow once it is known how
// the copy will be.
type view struct {
	id        Identity
	ref       Ref                        // in the workspace
	path      string                     // of the workspace, empty if it is not known
	source    *unstructured.Unstructured // in the workspace, without what its consumer has no say in
	namespace *unstructured.Unstructured // of the source; nil if it is not known or the filter does not ask
	copied    *unstructured.Unstructured // on the service cluster, nil if there is none
	patched   bool                       // The copy has been patched since, and its status is that of before.
	stored    state                      // as the Secret has it
	agents    bool                       // All of it is as api-syncagent has left it.
	lost      bool                       // The copy has been found by its marks: the state does not say where it is.
}

// look reads an object, its state and its copy. If state and copy are another's, it reads neither for a last pass. View
// and Secret are usable beside an error.
func (s *Syncer) look(in Input, last bool) (*view, *stateSecret, error) {
	me := Primary{NamespacedName: in.Object, Cluster: in.Workspace.Cluster}
	v := &view{id: s.identity(me), ref: s.RefOf(me), path: in.Workspace.Path}
	if s.paths {
		v.id.Path = v.path
	}
	secret := &stateSecret{syncer: s, writer: in.Service.Writer, id: v.id, name: s.StateOf(me)}
	source, err := in.Workspace.Cache(s.primary.Workspace.GroupVersionResource).Get(in.Object)
	if err != nil || source == nil && !last {
		return v, secret, err
	}
	v.source = s.primary.platform.withoutSpec(source)
	last = last || source.GetDeletionTimestamp() != nil
	if !last && s.filter.asksNamespaces() && in.Object.Namespace != "" {
		v.namespace, err = in.Workspace.Cache(Namespaces).Get(types.NamespacedName{Name: in.Object.Namespace})
		if err != nil {
			return v, secret, err
		}
	}
	found, err := secret.find(in.Service.Cache(Secrets))
	isForeign := found != nil && !s.Owns(found)
	switch {
	case err != nil:
		return v, secret, err
	case isForeign && !last:
		return v, secret, secret.notOurs()
	case isForeign:
		found = nil
	}
	if v.stored, err = secret.read(found, in.MayUse); err != nil {
		return v, secret, err
	}
	v.copied, err = v.findCopy(s, in.Service.Cache(s.primary.Service.GroupVersionResource), secret.exists)
	if err == nil && v.copied != nil && isForeign {
		err = secret.notOurs()
	}
	if v.copied != nil {
		v.lost = v.stored.copy.Name == ""
		v.agents = v.copied.GetAnnotations()[AnnotationKind] == "" && len(v.stored.records) == 0
	}
	return v, secret, err
}

// findCopy returns the copy, nil if there is none. It is where the state says and, without a state, where naming has
// it: what says elsewhere that it is the copy was written by somebody else. Only a state that does not say where, as
// that of api-syncagent, lets a copy that an earlier rule has named be found by what it says.
func (v *view) findCopy(s *Syncer, copies Cache, hasState bool) (*unstructured.Unstructured, error) {
	at := v.stored.copy.namespacedName()
	if at.Name == "" {
		at, _ = s.namer.Name(v.naming()) // Where it fails there is no such place.
	}
	if at.Name != "" {
		if u, err := copies.Get(at); err != nil || u != nil && v.isCopy(u) {
			return u, err
		}
	}
	if !hasState || v.stored.copy.Name != "" {
		return nil, nil //nolint:nilnil // So is none told.
	}
	all, err := copies.Copies(v.id.Key())
	all = slices.DeleteFunc(slices.Clone(all), func(u *unstructured.Unstructured) bool { return !v.isCopy(u) })
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if len(all) > 1 {
		return nil, errors.Wrapf(ErrAmbiguous, "%d objects are copies of %s", len(all), v.id.primary())
	}
	return all[0], nil
}

// isCopy reports whether an object that is where the copy is to be is the copy: it says so or, if it says nothing, has
// the UID of the copy.
func (v *view) isCopy(u *unstructured.Unstructured) bool {
	is := v.id.standingOf(u)
	return is == ours || is == unclaimed && u.GetUID() == v.stored.copy.UID && u.GetUID() != ""
}

// naming returns the object as rules for names see it. Of one that is gone there are the names alone.
func (v *view) naming() naming.Source {
	source := v.source
	if source == nil {
		source = &unstructured.Unstructured{Object: map[string]any{}}
		source.SetNamespace(v.id.Namespace)
		source.SetName(v.id.Name)
	}
	return naming.Source{Cluster: v.id.Cluster, Path: v.path, Object: source}
}

// workspace returns where the object is, as steps of mutation see it.
func (v *view) workspace() mutation.Workspace {
	return mutation.Workspace{Cluster: v.id.Cluster, Path: v.path}
}

// both returns both sides of the object, as rules see them.
func (v *view) both() related.View {
	return related.View{Cluster: v.id.Cluster, Path: v.path, Workspace: v.source, Service: v.copied}
}
