package reference

import (
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
	mu    sync.Mutex
	seen  map[objectInterest]observedResource
	asked map[objectInterest]time.Time // since when somebody has asked for one that has not been seen
}

// An observedResource is a resource as an Object has last seen it.
type observedResource struct {
	object  types.UID
	content map[string]any // shared, as the status would show it
}

func newHiddenResources() *hiddenResources {
	return &hiddenResources{seen: map[objectInterest]observedResource{}, asked: map[objectInterest]time.Time{}}
}

// Show gives a resource to those who refer to its Object, and wakes them if it has changed. It is for a resource whose
// values the status is not to show. The content is what would be in the status else, which must not be changed any
// more.
func (r *Resolver) Show(o Object, gvk schema.GroupVersionKind, content map[string]any) {
	k := objectInterest{NamespacedName: client.ObjectKeyFromObject(o), kind: gvk.GroupKind()}
	if r.withheld.put(k, observedResource{object: o.GetUID(), content: content}) {
		r.objects.changed(k.kind, nil, o)
	}
}

// Hide ends what Show has given of an Object.
func (r *Resolver) Hide(gvk schema.GroupVersionKind, n types.NamespacedName) {
	r.withheld.remove(objectInterest{NamespacedName: n, kind: gvk.GroupKind()})
}

// put records what an Object has seen, and reports whether that is new.
func (w *hiddenResources) put(k objectInterest, s observedResource) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.seen[k]
	w.seen[k] = s
	delete(w.asked, k)
	return was.object != s.object || version(was.content) != version(s.content)
}

func (w *hiddenResources) remove(k objectInterest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.seen, k)
	delete(w.asked, k)
}

// get returns what an Object has seen, nil if it has not, and then whether that was to be expected by now.
func (w *hiddenResources) get(k objectInterest, uid types.UID) (content map[string]any, late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.seen[k]; ok && s.object == uid {
		return s.content, false
	}
	since, ok := w.asked[k]
	if !ok {
		since = time.Now()
		w.asked[k] = since
	}
	return nil, time.Since(since) > patience
}

// version returns what tells two states of a resource apart.
func version(content map[string]any) string {
	u := unstructured.Unstructured{Object: content}
	return string(u.GetUID()) + "/" + u.GetResourceVersion()
}

// contentOf returns the content of an Object that a reference names. It has what the status withholds if the
// reference reads that: anyone who may read the status may read what the status is about. The error is a conflict while
// the Object has not looked at its resource yet.
func (r *Resolver) contentOf(o Object, ref *Reference) (map[string]any, error) {
	c, err := content(o, ref.GVK)
	if err != nil || !r.sanitized || !covers(seenPath, ref.From) {
		return c, refused(err)
	}
	shown, _, _ := unstructured.NestedMap(c, "status", "atProvider", "manifest")
	if !diff.IsSecret(shown) {
		return c, nil
	}
	k := objectInterest{NamespacedName: client.ObjectKeyFromObject(o), kind: ref.GVK.GroupKind()}
	seen, late := r.withheld.get(k, o.GetUID())
	switch {
	case seen != nil:
		err = unstructured.SetNestedField(c, seen, "status", "atProvider", "manifest")
		return c, refused(errors.Wrapf(err, "cannot read %s", ref))
	case late:
		return nil, waiting("%s to look at its Secret, whose values its status does not show", ref)
	}
	return nil, apierrors.NewConflict(schema.GroupResource{Group: ref.GVK.Group, Resource: ref.GVK.Kind}, o.GetName(),
		errors.New("it has not looked at its resource since the provider has started"))
}
