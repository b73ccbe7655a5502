package publishedresource

import (
	"context"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

// prune deletes the schemas that were made for an earlier state of the API, if that is asked for, and nothing refers to
// them.
func (e *external) prune(ctx context.Context, o *v1alpha1.PublishedResource) error {
	if o.Spec.UnusedSchemas != xpv2.DeletionDelete {
		return nil
	}
	v := e.view(ctx)
	if !v.complete() {
		return nil // Somebody out of view may use them.
	}
	bound := kcp.SchemasBound(v.bindings)
	var old []string
	for _, n := range e.state.schemas {
		r, ok := kcp.ResourceOf(n.Name)
		if ok && r == e.desiredAPI.resource && n.Name != e.desiredAPI.schema && !bound[n.Name] &&
			!e.memory.keptSchemas.Has(n.Name) {
			old = append(old, n.Name)
		}
	}
	if len(old) == 0 {
		return nil
	}
	exported, err := e.exported(ctx)
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := e.pruneSchema(ctx, o, name, exported.Has(name)); err != nil {
			return err
		}
	}
	return nil
}

// exported returns the names of the schemas that any APIExport of the workspace refers to.
func (e *external) exported(ctx context.Context) (sets.Set[string], error) {
	exports, err := e.cluster.Resource(kcp.Exports, "").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, errors.Wrap(err, "cannot list APIExports to find schemas without a use, "+
			"which unusedSchemas: Orphan would not do")
	}
	names := sets.New[string]()
	for i := range exports.Items {
		names.Insert(kcp.NewDraft("", &exports.Items[i]).Schemas()...)
	}
	return names, nil
}

// pruneSchema deletes a schema if it is of our owner and has no use.
func (e *external) pruneSchema(ctx context.Context, o *v1alpha1.PublishedResource, name string, used bool) error {
	s, err := e.readSchema(ctx, name)
	if err != nil || s == nil {
		return err
	}
	if used || s.Labels[v1alpha1.LabelKeyAgentName] != e.plan.agent {
		e.memory.keptSchemas.Insert(name)
		return nil
	}
	return e.deleteSchema(ctx, o, name)
}
