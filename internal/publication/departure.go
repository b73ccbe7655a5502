package publication

import (
	"context"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

var (
	// errStillBound means that an endpoint shows the binding of a workspace that its watch shows no more.
	errStillBound = errors.New("the watch of APIBindings does not show the workspace, and the server does")
	// errNoBindings means that an endpoint shows no binding at all, as one that has just started.
	errNoBindings = errors.New("the endpoint of the workspace shows no APIBinding at all")
)

// boundAgain is how long the answer holds that a workspace is still bound.
const boundAgain = 10 * time.Second

// A bindingsLook is what an endpoint has answered when it was asked for its bindings.
type bindingsLook struct {
	begun    time.Time
	clusters set[string] // that have one
}

// confirmLeft fails unless the endpoint of a workspace confirms that the workspace does not bind the API any more. The
// watch of bindings alone is no reason to give up copies: it may show less than there is, as after a restart or a
// restore of kcp.
func (p *publication) confirmLeft(ctx context.Context, cluster string) error {
	p.mu.Lock()
	e, since := p.endpoints[p.workspaceIndex.homes[cluster]], p.workspaceIndex.left[cluster]
	p.mu.Unlock()
	if e == nil {
		return errEndpointGone
	}
	bound, err := e.binds(ctx, cluster, since)
	switch {
	case err != nil:
		return errors.Wrap(err, "cannot tell whether the workspace still binds the API")
	case bound:
		return errStillBound
	}
	return nil
}

// binds reports whether the server says that a logical cluster has a binding. An answer is used for all workspaces that
// have left before it was asked for.
func (e *endpoint) binds(ctx context.Context, cluster string, since time.Time) (bool, error) {
	e.mu.Lock()
	last := e.look
	e.mu.Unlock()
	if !last.begun.IsZero() && last.begun.After(since) {
		if _, bound := last.clusters[cluster]; !bound || time.Since(last.begun) < boundAgain {
			return bound, nil
		}
	}
	look, err := e.askBindings(ctx)
	if err != nil {
		return false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if look.begun.After(e.look.begun) {
		e.look = look
	}
	_, bound := look.clusters[cluster]
	return bound, nil
}

// askBindings asks the server which logical clusters have a binding.
func (e *endpoint) askBindings(ctx context.Context) (bindingsLook, error) {
	look := bindingsLook{begun: time.Now(), clusters: set[string]{}}
	list, err := e.cluster.Resource(kcp.Bindings, "").List(ctx, metav1.ListOptions{})
	if err != nil {
		return look, err
	}
	for i := range list.Items {
		look.clusters[list.Items[i].GetAnnotations()[kcp.AnnotationCluster]] = struct{}{}
	}
	if len(look.clusters) == 0 {
		return look, errNoBindings
	}
	return look, nil
}
