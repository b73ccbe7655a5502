package reference

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/diff"
)

const (
	// seenPath is where the status of an Object shows its resource.
	seenPath = "status.atProvider.manifest"
	// patience is how long nothing is said of an Object that has not looked at its resource since the provider has
	// started.
	patience = 10 * time.Second
)

// hiddenResources are the resources of Objects whose status does not show all of them.
type hiddenResources struct {
	*objects

	seen  sync.Map         // node to observedResource
	asked func() time.Time // when somebody has asked for one that has not been seen, for the first time
}

// An observedResource is a resource as an Object has last seen it.
type observedResource struct {
	object  types.UID
	content map[string]any // shared, as the status would show it
}

// Show gives a resource to those who refer to its Object, and wakes them if it has changed. It is for a resource whose
// values the status is not to show. The content is what would be in the status else, which must not be changed any
// more.
func (h *hiddenResources) Show(o Object, gvk schema.GroupVersionKind, content map[string]any) {
	is := observedResource{object: o.GetUID(), content: content}
	was, _ := h.seen.Swap(node{gvk.GroupKind(), client.ObjectKeyFromObject(o)}, is)
	if !reflect.DeepEqual(was, is) {
		h.wakeReferrers(context.Background(), gvk.GroupKind(), o)
	}
}

// Hide ends what Show has given of an Object.
func (h *hiddenResources) Hide(gvk schema.GroupVersionKind, n types.NamespacedName) {
	h.seen.Delete(node{gvk.GroupKind(), n})
}

// unveil adds to the content of an Object the resource that its status masks, if a reference reads that. Anyone who may
// read the status may read the resource. The error is a conflict until the Object has looked at its resource.
func (h *hiddenResources) unveil(o Object, ref *Reference, c map[string]any) (map[string]any, error) {
	if !h.options.Sanitized || !covers(seenPath, ref.From) {
		return c, nil
	}
	shown, _, _ := unstructured.NestedMap(c, "status", "atProvider", "manifest")
	if !diff.IsSecret(shown) {
		return c, nil
	}
	seen, _ := h.seen.Load(node{ref.GVK.GroupKind(), client.ObjectKeyFromObject(o)})
	r, _ := seen.(observedResource)
	switch {
	case r.object == o.GetUID(): // Not a namesake that is gone.
		err := unstructured.SetNestedField(c, r.content, "status", "atProvider", "manifest")
		return c, refused(errors.Wrapf(err, "cannot read %s", ref))
	case time.Since(h.asked()) > patience:
		return nil, waiting("%s to look at its Secret, whose values its status does not show", ref)
	}
	return nil, apierrors.NewConflict(schema.GroupResource{Group: ref.GVK.Group, Resource: ref.GVK.Kind}, o.GetName(),
		errors.New("it has not read its resource since the provider started"))
}
