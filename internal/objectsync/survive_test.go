package objectsync_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestStateSurvives shows that nothing is overwritten, refused or left behind if the state of an object has the name of
// another version of the API, or is lost.
func TestStateSurvives(t *testing.T) {
	for name, change := range map[string]func(w *world, state *corev1.Secret){
		"OtherVersion": func(w *world, state *corev1.Secret) {
			former := &corev1.Secret{Type: state.Type, Data: state.Data}
			former.Namespace, former.Name, former.Labels = state.Namespace, state.Name+"0", state.Labels
			w.create(w.below, former)
		},
		"Lost": func(*world, *corev1.Secret) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(v1alpha1.OriginKCP, byReference("spec.secretName"))
			up := related(v1alpha1.OriginService, byReference("spec.upName")).Related[0]
			up.Identifier, up.Cleanup = "up", true
			spec.Related = append(spec.Related, up)
			s := w.syncer(spec)
			w.create(w.above, thing(w.input.Object, set("upName", "issued")))
			origin := newSecret(w.input.Object.Namespace, "tls", "one")
			w.create(w.above, origin)
			w.ensureNamespace(w.cluster)
			issued := newSecret(w.cluster, "issued", "one")
			w.create(w.below, issued)
			w.mustSync(s, w.input)
			w.patch(w.below, w.theCopy(w.cluster), `{"spec":{"size":7}}`)
			w.patch(w.below, newSecret(w.cluster, "tls", ""), `{"data":{"operators":"b25l"}}`)

			state := w.states()[0]
			kube.Delete(t, w.below, &state)
			change(w, &state)
			w.mustSync(s, w.input)
			if got := w.theCopy(w.cluster).Object["spec"].(map[string]any)["size"]; got != int64(7) {
				t.Errorf("the operator's change of the copy is overwritten: %v", got)
			}
			if got := w.secretOf(w.below, w.cluster, "tls"); got["operators"] != "one" || got["k"] != "one" {
				t.Errorf("the operator's change of the related copy is overwritten: %v", got)
			}
			if n := len(w.states()); n != 1 {
				t.Errorf("want one state, got %d", n)
			}
			w.patch(w.above, origin, `{"data":{"k":"dHdv"}}`)
			w.patch(w.below, issued, `{"data":{"k":"dHdv"}}`)
			w.mustSync(s, w.input)
			if got := w.secretOf(w.below, w.cluster, "tls"); got["operators"] != "one" || got["k"] != "two" {
				t.Errorf("rotated down: got %v", got)
			}
			if got := w.secretOf(w.above, w.input.Object.Namespace, "issued")["k"]; got != "two" {
				t.Errorf("rotated up: got %q", got)
			}
			w.delete(w.input)
			w.mustSync(s, w.input)
			if err := w.above.Get(t.Context(), client.ObjectKeyFromObject(origin), origin); err != nil ||
				len(origin.Finalizers) > 0 {
				t.Errorf("finalizers left: %v, %v", origin.Finalizers, err)
			}
			if w.source(w.input) != nil || len(w.copies(w.cluster))+len(w.states()) > 0 ||
				w.secretOf(w.below, w.cluster, "tls") != nil ||
				w.secretOf(w.above, w.input.Object.Namespace, "issued") != nil {
				t.Error("something is left behind")
			}
		})
	}
}
