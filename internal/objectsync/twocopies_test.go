package objectsync_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// twice returns a spec that copies the Secret tls to two names.
func twice(origin v1alpha1.Origin) *v1alpha1.PublishedResourceSpec {
	below := "kcp"
	if origin == v1alpha1.OriginKCP {
		below = "service"
	}
	named := func(name string) v1alpha1.RelatedResourceObject {
		return located(v1alpha1.RelatedResourceObjectSpec{Template: &v1alpha1.TemplateExpression{
			Template: fmt.Sprintf(`{{ if eq .Side %q }}%s{{ else }}tls{{ end }}`, below, name),
		}})
	}
	spec := related(origin, named("a"))
	also(spec, "again", origin, named("b"))
	spec.Related[0].Cleanup, spec.Related[1].Cleanup = true, true
	return spec
}

// TestTwoCopiesOfOneObject shows that a related object which two rules copy to two places arrives at both each time
// that it changes, goes from the one whose rule goes, and from both with the object that it is related to.
func TestTwoCopiesOfOneObject(t *testing.T) {
	for _, origin := range []v1alpha1.Origin{v1alpha1.OriginService, v1alpha1.OriginKCP} {
		t.Run(string(origin), func(t *testing.T) {
			w := newWorld(t)
			s := w.syncer(twice(origin))
			w.create(w.above, thing(w.input.Object))
			w.mustSync(s, w.input)
			from, to, at, copies := w.ends(origin)
			tls := newSecret(at, "tls", "one")
			w.create(from, tls)
			check := func(when string, want map[string]string) {
				t.Helper()
				if diff := cmp.Diff(want, w.twoCopies(to, copies)); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", when, diff)
				}
			}
			settle := func() {
				t.Helper()
				w.settle(s)
			}
			change := func(value string) {
				t.Helper()
				w.patch(from, tls, fmt.Sprintf(`{"data":{"k":%q}}`, base64.StdEncoding.EncodeToString([]byte(value))))
				settle()
			}
			settle()
			check("made", map[string]string{"a": "one", "b": "one"})
			change("two")
			check("changed", map[string]string{"a": "two", "b": "two"})
			w.writesNothing("in the end", s, w.input)
			w.mergeSlots(origin)
			settle()
			change("three")
			check("changed, with one slot in the state", map[string]string{"a": "three", "b": "three"})
			kube.Get(t, from, client.ObjectKeyFromObject(tls), tls)
			version, one := tls.ResourceVersion, twice(origin)
			one.Related = one.Related[1:]
			s = w.syncer(one)
			settle()
			check("without the first rule", map[string]string{"b": "three"})
			if kube.Get(t, from, client.ObjectKeyFromObject(tls), tls); tls.ResourceVersion != version {
				t.Errorf("want the Secret held all the time, got finalizers %v", tls.Finalizers)
			}
			change("four")
			check("changed, without the first rule", map[string]string{"b": "four"})
			s = w.syncer(twice(origin))
			settle()
			change("five")
			check("with both rules again", map[string]string{"a": "five", "b": "five"})
			w.delete(w.input)
			settle()
			check("without the object", map[string]string{})
		})
	}
}

// ends returns both sides of a related object, and the namespaces of the object and of its copies, which are there.
func (w *world) ends(origin v1alpha1.Origin) (from, to client.Client, at, copies string) {
	w.Helper()
	w.ensureNamespace(w.cluster)
	if origin == v1alpha1.OriginKCP {
		return w.above, w.below, w.input.Object.Namespace, w.cluster
	}
	return w.below, w.above, w.cluster, w.input.Object.Namespace
}

// twoCopies returns the values of the copies that are there, by their names.
func (w *world) twoCopies(to client.Client, namespace string) map[string]string {
	w.Helper()
	got := map[string]string{}
	for _, name := range []string{"a", "b"} {
		if data := w.secretOf(to, namespace, name); data != nil {
			got[name] = data["k"]
		}
	}
	return got
}

// settle syncs the object, and once more after a conflict, as one rule has not seen that the other holds the Secret.
func (w *world) settle(s *objectsync.Syncer) {
	w.Helper()
	if _, err := w.sync(s, w.input); !apierrors.IsConflict(err) && err != nil {
		w.Fatal(err)
	}
	w.mustSync(s, w.input)
}

// mergeSlots makes the state one of api-syncagent, which has one slot for all copies of an object, and no list of them.
func (w *world) mergeSlots(origin v1alpha1.Origin) {
	w.Helper()
	at, cluster := w.cluster, ""
	if origin == v1alpha1.OriginKCP {
		at, cluster = w.input.Object.Namespace, w.cluster
	}
	state, merged := w.states()[0], 0
	for key, value := range maps.Clone(state.Data) {
		var is corev1.Secret
		if json.Unmarshal(value, &is) == nil && is.Kind == "Secret" {
			delete(state.Data, key)
			state.Data[stateKey(cluster, at, "tls")] = value
			merged++
		}
	}
	if merged != 2 {
		w.Fatalf("want the Secret remembered for each copy, got %v", sortedKeys(state.Data))
	}
	delete(state.Data, "related")
	kube.Update(w, w.below, &state)
}
