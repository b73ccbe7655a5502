package reference

import (
	"context"
	"reflect"
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

// An observedResource is a resource as an Object has last seen it.
type observedResource struct {
	object  types.UID
	content map[string]any // shared, as the status would show it
}

// Show gives a resource to those who refer to its Object, and wakes them if it has changed. It is for a resource whose
// values the status is not to show. The content is what would be in the status else, which must not be changed any
// more.
func (s *objects) Show(o Object, gvk schema.GroupVersionKind, content map[string]any) {
	is := observedResource{object: o.GetUID(), content: content}
	was, _ := s.seen.Swap(node{gvk.GroupKind(), client.ObjectKeyFromObject(o)}, is)
	if !reflect.DeepEqual(was, is) {
		s.wakeReferrers(context.Background(), gvk.GroupKind(), o)
	}
}

// Hide ends what Show has given of an Object.
func (s *objects) Hide(gvk schema.GroupVersionKind, n types.NamespacedName) {
	s.seen.Delete(node{gvk.GroupKind(), n})
}

// unveil adds to the content of an Object the resource that its status masks, if a reference reads that. Anyone who may
// read the status may read the resource. The error is a conflict until the Object has looked at its resource.
func (s *objects) unveil(o Object, ref *Reference, c map[string]any) (map[string]any, error) {
	if !s.options.Sanitized || !covers(seenPath, ref.From) {
		return c, nil
	}
	shown, _, _ := unstructured.NestedMap(c, "status", "atProvider", "manifest")
	if !diff.IsSecret(shown) {
		return c, nil
	}
	seen, _ := s.seen.Load(node{ref.GVK.GroupKind(), client.ObjectKeyFromObject(o)})
	r, _ := seen.(observedResource)
	switch {
	case r.object == o.GetUID(): // Not a namesake that is gone.
		err := unstructured.SetNestedField(c, r.content, "status", "atProvider", "manifest")
		return c, refused(errors.Wrapf(err, "cannot read %s", ref))
	case time.Since(s.asked()) > patience:
		return nil, waiting("%s to look at its Secret, whose values its status does not show", ref)
	}
	return nil, apierrors.NewConflict(schema.GroupResource{Group: ref.GVK.Group, Resource: ref.GVK.Kind}, o.GetName(),
		errors.New("it has not read its resource since the provider started"))
}
