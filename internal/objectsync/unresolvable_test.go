package objectsync_test

import (
	"testing"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestUnresolvable shows that an object which names a related object by what is no name gets its status all the same,
// and can be deleted: one of ours, and one of api-syncagent.
func TestUnresolvable(t *testing.T) {
	object := byReference("spec.secretName")
	object.Namespace = &v1alpha1.RelatedResourceObjectSpec{Reference: &v1alpha1.FieldReference{
		Path: "spec.secretName", Regex: &v1alpha1.RegularExpression{Pattern: ".", Replacement: "."},
	}}
	for name, prepare := range map[string]func(w *world){
		"Ours":    func(w *world) { w.create(w.above, thing(w.input.Object)) },
		"Agent's": func(w *world) { left(w) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			prepare(w)
			s := w.syncer(related(v1alpha1.OriginService, object))
			w.refused(s, w.input, objectsync.ErrInvalidName)
			w.patchStatus(w.below, w.theCopy(w.cluster), `{"status":{"phase":"Ready"}}`)
			w.refused(s, w.input, objectsync.ErrInvalidName)
			if got := w.source(w.input).Object["status"]; got == nil {
				t.Error("want the status, got none")
			}
			w.delete(w.input)
			w.mustSync(s, w.input)
			if w.source(w.input) != nil || len(w.copies(w.cluster)) != 0 || len(w.states()) != 0 {
				t.Error("something is left after the deletion")
			}
		})
	}
}
