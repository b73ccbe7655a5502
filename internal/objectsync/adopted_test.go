package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestAdoptedUntilChanged shows that what differs in an object that becomes the copy stays until it changes at the
// source, as with api-syncagent, and that it is overwritten at once if that is asked for.
func TestAdoptedUntilChanged(t *testing.T) {
	has := map[string]any{"size": int64(1), "secretName": "operators", "local": "x"}
	for name, tc := range map[string]struct {
		reason                  string
		policy                  v1alpha1.ExistingObjectsPolicy
		found, resized, renamed map[string]any
	}{
		"Default": {
			reason: "Each field stays until it changes at the source.", found: has,
			resized: map[string]any{"size": int64(7), "secretName": "operators", "local": "x"},
			renamed: map[string]any{"size": int64(7), "secretName": "another", "local": "x"},
		},
		"Overwrite": {
			reason: "Only what the source does not have stays.", policy: v1alpha1.ExistingObjectsOverwrite,
			found:   map[string]any{"size": int64(9007199254740993), "secretName": "tls", "local": "x"},
			resized: map[string]any{"size": int64(7), "secretName": "tls", "local": "x"},
			renamed: map[string]any{"size": int64(7), "secretName": "another", "local": "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.syncer(&v1alpha1.PublishedResourceSpec{
				Naming: &v1alpha1.ResourceNaming{Name: "web"}, ExistingObjects: tc.policy,
			})
			w.ensureNamespace(w.cluster)
			u := thing(types.NamespacedName{Namespace: w.cluster, Name: "web"})
			u.SetAPIVersion("example.org/v1")
			u.Object["spec"] = has
			w.create(w.below, u)
			source := thing(w.input.Object)
			w.create(w.above, source)
			is := func(when string, want map[string]any) {
				t.Helper()
				w.mustSync(s, w.input)
				if diff := cmp.Diff(want, w.theCopy(w.cluster).Object["spec"]); diff != "" {
					t.Errorf("%s, %s:\n-want, +got:\n%s", tc.reason, when, diff)
				}
			}
			is("found", tc.found)
			w.patch(w.above, source, `{"spec":{"size":7}}`)
			is("resized", tc.resized)
			w.patch(w.above, source, `{"spec":{"secretName":"another"}}`)
			is("renamed", tc.renamed)
		})
	}
}

// TestFoundRelated shows the same of the copy of a related object that the consumer was told of and that nobody
// remembers.
func TestFoundRelated(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		policy v1alpha1.ExistingObjectsPolicy
		found  string
	}{
		"Default": {reason: "What differs stays.", policy: "", found: "the consumer's"},
		"Overwrite": {
			reason: "What differs is overwritten.",
			policy: v1alpha1.ExistingObjectsOverwrite,
			found:  "the service's",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(v1alpha1.OriginService, byReference("spec.secretName"))
			spec.ExistingObjects = tc.policy
			s := w.syncer(spec)
			in := w.input.Object
			w.create(w.above, newSecret(in.Namespace, "tls", "the consumer's"))
			u := thing(in)
			u.SetAnnotations(map[string]string{
				objectsync.AnnotationRelatedPrefix + spec.Related[0].Name() + ".0": `{"namespace":"` + in.Namespace +
					`","name":"tls","apiVersion":"v1","kind":"Secret"}`,
			})
			w.create(w.above, u)
			w.ensureNamespace(w.cluster)
			origin := newSecret(w.cluster, "tls", "the service's")
			w.create(w.below, origin)
			w.mustSync(s, w.input)
			if got := w.secretOf(w.above, in.Namespace, "tls")["k"]; got != tc.found {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.found, got)
			}
			w.patch(w.below, origin, `{"data":{"k":"dHdv"}}`)
			w.mustSync(s, w.input)
			if got := w.secretOf(w.above, in.Namespace, "tls")["k"]; got != "two" {
				t.Errorf("changed at the source: got %q", got)
			}
		})
	}
}
