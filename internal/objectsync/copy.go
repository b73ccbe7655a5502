package objectsync

import (
	"context"
	"maps"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// placedMessage is what a consumer is told of a new copy.
const placedMessage = "The provider of the service has created a copy of the object"

// self returns the object as one that is copied to a place.
func (p *pass) self(to Ref) relation {
	return relation{copyRule: &p.primary, from: p.workspaceRef(), to: to, origin: p.source, copied: p.copied}
}

// view returns both sides of the object, as rules see them.
func (p *pass) view() related.View {
	return related.View{Cluster: p.id.Cluster, Path: p.Workspace.Path, Workspace: p.source, Service: p.copied}
}

// syncCopy makes the copy, or brings it into step, and returns both sides of the object. There is no copy if it is
// being deleted.
func (p *pass) syncCopy(ctx context.Context) (related.View, error) {
	both := p.view()
	if p.copied != nil && p.copied.GetDeletionTimestamp() != nil {
		p.result.Waiting = "the deletion of the copy"
		both.Service = nil
		return both, p.syncStatus(ctx)
	}
	target, err := p.target(ctx)
	if err != nil {
		return both, err
	}
	desired, err := p.desired(p.self(p.copyRef(target)), target)
	if err != nil {
		return both, err
	}
	if p.copied != nil {
		err := p.update(ctx, desired)
		both.Service = p.copied
		return both, err
	}
	metadata := asMap(desired["metadata"])
	both.Service = newCopy(p.copyRef(target), maps.Clone(desired), map[string]any{
		"labels":      merged(asMap(metadata["labels"]), fromTexts(p.id.Labels())),
		"annotations": merged(asMap(metadata["annotations"]), fromTexts(p.id.Annotations())),
	})
	return both, p.make(ctx, both.Service, desired)
}

// steps returns steps of mutation for objects of the workspace.
func (p *pass) steps(m *mutation.Mutations) *mutation.Mutations {
	return m.In(mutation.Workspace{Cluster: p.id.Cluster, Path: p.Workspace.Path})
}

// target returns the copy, or what it would be: where naming has it, unless a former one is there that is not shown.
func (p *pass) target(ctx context.Context) (*unstructured.Unstructured, error) {
	if p.copied != nil {
		return p.copied, nil
	}
	n, err := p.namer.Name(p.naming())
	if err != nil {
		return nil, err
	}
	if was := p.stored.copy.namespacedName(); was.Name != "" && was != n {
		if is, err := p.isThere(ctx); err != nil || is {
			return p.self(p.primary.Service.ref(was)).target(), err
		}
	}
	u := p.self(p.primary.Service.ref(n)).target()
	if p.isState(p.copyRef(u), nil) {
		return nil, errors.Wrapf(ErrForeign, "%s is the state of an object", p.copyRef(u))
	}
	_, by := p.namer.Who()
	if by == naming.Consumer && (naming.IsSystem(n.Namespace) || n.Namespace == p.stateNamespace) {
		return nil, errors.Wrapf(ErrForeign, "namespace %s is not for consumers to name", n.Namespace)
	}
	return u, nil
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func fromTexts(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// make remembers what the copy is made of, and then creates it. In this order nothing that has been copied is ever
// unknown.
func (p *pass) make(ctx context.Context, u *unstructured.Unstructured, desired map[string]any) error {
	if err := p.state.put(p.id.subject(), p.workspaceRef().apiVersion(), desired); err != nil {
		return err
	}
	if at := p.state.copy; at.Namespace != u.GetNamespace() || at.Name != u.GetName() {
		p.state.copy = place{Namespace: u.GetNamespace(), Name: u.GetName()}
	}
	if err := p.save(ctx, p.state); err != nil {
		return err
	}
	err := p.create(ctx, p.Service, p.primary.Service, u)
	if apierrors.IsAlreadyExists(err) {
		return p.resolveNameConflict(ctx, u, desired)
	}
	if err != nil {
		return errors.Wrapf(err, "cannot create %s", p.copyRef(u))
	}
	p.result.Copy = p.copyRef(u).NamespacedName()
	p.tell(ReasonPlaced, placedMessage)
	return nil
}

func (p *pass) copyRef(u *unstructured.Unstructured) Ref {
	return p.primary.Service.ref(nameOf(u))
}

// resolveNameConflict finds out what it is that has the name of a new copy, and makes it the copy if it may.
func (p *pass) resolveNameConflict(ctx context.Context, u *unstructured.Unstructured, desired map[string]any) error {
	ref := p.copyRef(u)
	found, err := p.Service.Writer.Live(ctx, ref)
	if err != nil {
		return errors.Wrapf(err, "cannot read %s", ref)
	}
	standing := p.id.standingOf(found)
	switch {
	case standing == foreign:
		return errors.Wrapf(ErrForeign, "%s", ref)
	case found.GetDeletionTimestamp() != nil:
		return errors.Wrapf(ErrEnding, "%s", ref)
	case standing == unclaimed && !p.isCopy(found) && !p.adopts():
		return errors.Wrapf(ErrExists, "%s", ref)
	}
	var change map[string]any // The rest of what differs stays until it changes at the source.
	// One with all marks is of a try that was not answered, and may have what the source was then.
	if p.existing == v1alpha1.ExistingObjectsOverwrite || standing == ours && p.changes(found, nil) == nil {
		change = diff(nil, desired)
	}
	body := p.changes(found, change)
	if body == nil {
		return nil
	}
	body = merged(body, at([]string{"metadata", "resourceVersion"}, found.GetResourceVersion()))
	if err := patch(ctx, p.Service.Writer, ref, body); err != nil {
		return err
	}
	p.result.Copy = ref.NamespacedName()
	p.tell(ReasonPlaced, placedMessage)
	return nil
}

// adopts reports whether an object that belongs to nobody and has the name of the copy may become it.
func (p *pass) adopts() bool {
	switch p.existing {
	case v1alpha1.ExistingObjectsAdopt, v1alpha1.ExistingObjectsOverwrite:
		return true
	case v1alpha1.ExistingObjectsRefuse:
		return false
	case v1alpha1.ExistingObjectsAdoptIfExclusive:
	}
	name, namespace := p.namer.Who()
	return name == naming.Workspace || namespace == naming.Workspace
}

// changes returns the patch that a copy needs for a change of content and for what tells whose copy it is, nil for
// none. What api-syncagent does not write is no reason for a patch.
func (p *pass) changes(u *unstructured.Unstructured, change map[string]any) map[string]any {
	all := merged(change, map[string]any{"metadata": map[string]any{
		"labels": fromTexts(p.id.Labels()), "annotations": fromTexts(p.id.Annotations()),
	}})
	if IsOrphaned(u) {
		asMap(asMap(all["metadata"])["annotations"])[AnnotationOrphaned] = nil
	}
	body := needed(all, u.Object)
	own := at([]string{"metadata", "annotations"}, map[string]any{
		AnnotationKind: p.id.Kind.String(), AnnotationPublication: p.publication,
	})
	if !IsOrphaned(u) && same(body, needed(own, u.Object)) {
		return nil
	}
	return body
}

// update brings the copy into step with what has changed at the source since it was last copied. What others have
// changed since then stays.
func (p *pass) update(ctx context.Context, desired map[string]any) error {
	last := p.state.last(p.id.subject(), p.primary.Workspace)
	lost := last == nil && p.copied.GetAnnotations()[AnnotationKind] != ""
	if lost {
		// Ours always have a state. What others have changed of the copy since it was lost is not known, and stays.
		last = desired
	}
	change := p.primary.platform.change(last, desired)
	if change != nil || last == nil || lost {
		if err := p.state.put(p.id.subject(), p.workspaceRef().apiVersion(), desired); err != nil {
			return err
		}
	}
	if body := p.changes(p.copied, change); body != nil {
		if err := patch(ctx, p.Service.Writer, p.copyRef(p.copied), body); err != nil {
			return err
		}
		// References are to be followed from what the copy is now.
		p.copied, p.updated = &unstructured.Unstructured{Object: merged(p.copied.Object, body)}, true
		p.tell(ReasonSynced, "The desired state of the object has been synced")
	}
	return nil
}
