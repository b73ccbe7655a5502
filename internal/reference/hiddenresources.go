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

	sanitized bool             // the status does not show the values of Secrets
	seen      sync.Map         // node to observedResource
	asked     func() time.Time // when somebody has asked for one that has not been seen, for the first time
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
	n := node{gvk.GroupKind(), client.ObjectKeyFromObject(o)}
	if h.put(n, observedResource{object: o.GetUID(), content: content}) {
		h.wakeReferrers(context.Background(), n.kind, o)
	}
}

// Hide ends what Show has given of an Object.
func (h *hiddenResources) Hide(gvk schema.GroupVersionKind, n types.NamespacedName) {
	h.seen.Delete(node{gvk.GroupKind(), n})
}

// put records what an Object has seen, and reports whether that is new.
func (h *hiddenResources) put(n node, s observedResource) bool {
	v, _ := h.seen.Swap(n, s)
	was, _ := v.(observedResource)
	return !reflect.DeepEqual(was, s)
}

// get returns what an Object has seen, nil if it has not, and then whether that was to be expected by now.
func (h *hiddenResources) get(n node, uid types.UID) (content map[string]any, late bool) {
	v, _ := h.seen.Load(n)
	if s, ok := v.(observedResource); ok && s.object == uid {
		return s.content, false
	}
	return nil, time.Since(h.asked()) > patience
}

// contentOf returns the content of an Object that a reference names. It has what the status withholds if the
// reference reads that: anyone who may read the status may read what the status is about. The error is a conflict while
// the Object has not looked at its resource yet.
func (h *hiddenResources) contentOf(o Object, ref *Reference) (map[string]any, error) {
	c, err := content(o, ref.GVK)
	if err != nil || !h.sanitized || !covers(seenPath, ref.From) {
		return c, refused(err)
	}
	shown, _, _ := unstructured.NestedMap(c, "status", "atProvider", "manifest")
	if !diff.IsSecret(shown) {
		return c, nil
	}
	seen, late := h.get(node{ref.GVK.GroupKind(), client.ObjectKeyFromObject(o)}, o.GetUID())
	switch {
	case seen != nil:
		err = unstructured.SetNestedField(c, seen, "status", "atProvider", "manifest")
		return c, refused(errors.Wrapf(err, "cannot read %s", ref))
	case late:
		return nil, waiting("%s to look at its Secret, whose values its status does not show", ref)
	}
	return nil, apierrors.NewConflict(schema.GroupResource{Group: ref.GVK.Group, Resource: ref.GVK.Kind}, o.GetName(),
		errors.New("it has not read its resource since the provider started"))
}
