package publication

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// echoMax is how long a deletion is waited for to be seen.
const echoMax = 5 * time.Second

// compositeFinalizer is what Crossplane has on each composite resource that it has composed.
const compositeFinalizer = "composite.apiextensions.crossplane.io"

// A writer writes to one side.
type writer struct{ side *side }

// put shows the answer to a write.
func (w *writer) put(r schema.GroupVersionResource, u *unstructured.Unstructured) {
	n := keyOf(u)
	for _, t := range w.side.carriers(r, n) {
		if t == w.side.pass.worker.streams.states {
			w.side.pass.update(func(o *object) { o.stateVersion = u.GetResourceVersion() })
		}
		// What only has the name of a state is none.
		if t != w.side.pass.worker.streams.states || u.GetLabels()[objectsync.LabelState] != "" {
			t.Put(u)
		}
	}
}

// Create makes an object. The namespace of states is made if it is missing.
func (w *writer) Create(ctx context.Context, r schema.GroupVersionResource, u *unstructured.Unstructured) error {
	if n := u.GetNamespace(); w.side.endpoint == nil && n != "" && n != w.side.pass.worker.config.Sync.StateNamespace {
		lock := w.side.pass.worker.config.shared.locks.of(n)
		lock.RLock()
		defer lock.RUnlock()
	}
	answer, err := w.side.resource(r, u.GetNamespace()).Create(ctx, u, metav1.CreateOptions{})
	n := keyOf(u)
	if apierrors.IsNotFound(err) && w.side.own(r, n) == w.side.pass.worker.streams.states {
		ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		ns.SetName(u.GetNamespace())
		_, err = w.side.resource(objectsync.Namespaces, "").Create(ctx, ns, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		answer, err = w.side.resource(r, u.GetNamespace()).Create(ctx, u, metav1.CreateOptions{})
	}
	if err == nil {
		w.put(r, answer)
	}
	return err
}

// Patch changes an object.
func (w *writer) Patch(ctx context.Context, o objectsync.Ref, patch []byte, subresources ...string) error {
	answer, err := w.side.resource(o.GVR(), o.Namespace).Patch(ctx, o.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}, subresources...)
	switch {
	case err != nil:
		return err
	case answer.GetDeletionTimestamp() != nil && len(answer.GetFinalizers()) == 0:
		for _, t := range w.side.carriers(o.GVR(), o.NamespacedName()) {
			t.Drop(answer)
		}
	default:
		w.put(o.GVR(), answer)
	}
	return nil
}

// Delete deletes an object, and waits until that is seen. A composite resource stays until all that it is composed of
// is gone: its consumer is to see that.
func (w *writer) Delete(ctx context.Context, o objectsync.Ref, uid types.UID) error {
	options, known := metav1.DeleteOptions{}, w.side.carriers(o.GVR(), o.NamespacedName())
	for _, t := range known {
		u := t.Get(w.side.name(o.NamespacedName()))
		if u != nil && slices.Contains(u.GetFinalizers(), compositeFinalizer) {
			options.PropagationPolicy = new(metav1.DeletePropagationForeground)
		}
	}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	if err := w.side.resource(o.GVR(), o.Namespace).Delete(ctx, o.Name, options); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, echoMax)
	defer cancel()
	for _, t := range known {
		was := t.Get(w.side.name(o.NamespacedName()))
		t.Until(ctx, w.side.name(o.NamespacedName()), func(u *unstructured.Unstructured) bool {
			return u == nil || u.GetDeletionTimestamp() != nil || was != nil && u.GetUID() != was.GetUID()
		})
	}
	return nil
}

// Live reads an object from the server. That is noted as a look: what has the name of a copy may go.
func (w *writer) Live(ctx context.Context, o objectsync.Ref) (*unstructured.Unstructured, error) {
	w.side.pass.need(lookAt(o.NamespacedName(), w.side.cluster, o.GVR()))
	return w.side.resource(o.GVR(), o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
}
