package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
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

// TestEnding shows that an object which is being deleted does not become a copy: the name is waited for, without a word
// to the consumer, who can do nothing about it.
func TestEnding(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{Name: "$remoteName"}})
	w.ensureNamespace(w.cluster)
	ending := objectOf(things.Service, types.NamespacedName{Namespace: w.cluster, Name: "web"},
		map[string]any{"spec": map[string]any{"of": "the operator"}})
	ending.SetFinalizers([]string{"example.org/operator"})
	w.create(w.below, ending)
	kube.Delete(t, w.below, ending)
	w.create(w.above, thing(w.input.Object))
	all, err := w.sync(s, w.input)
	if !errors.Is(err, objectsync.ErrEnding) || reasons(all) != objectsync.ReasonAccepted {
		t.Errorf("want ErrEnding and no warning, got %v and %q", err, reasons(all))
	}
	is := w.read(w.input.Service, things.Service, types.NamespacedName{Namespace: w.cluster, Name: "web"})
	if diff := cmp.Diff(map[string]any{"of": "the operator"}, is.Object["spec"]); diff != "" ||
		len(is.GetLabels()) != 0 {
		t.Errorf("what is being deleted has been written: %v", is.Object)
	}
	w.patch(w.below, ending, `{"metadata":{"finalizers":null}}`)
	w.mustSync(s, w.input)
	if got := w.theCopy(w.cluster); got.GetUID() == ending.GetUID() || got.GetName() != "web" {
		t.Errorf("want a new object of the name, got %v", got.Object["metadata"])
	}
}

// TestTakeoverBesideUnnamespaced shows that an object without a namespace does not take what api-syncagent has copied
// of one that has its name in a namespace, though that copy does not tell the kind it is of, and that each has a copy
// of its own.
func TestTakeoverBesideUnnamespaced(t *testing.T) {
	w := newWorld(t)
	left := left(w)
	s := w.syncerOf(objectsync.Pair{Workspace: wides.Workspace, Service: things.Service},
		&v1alpha1.PublishedResourceSpec{})
	in := w.input
	in.Object.Namespace = ""
	wide := objectOf(wides.Workspace, in.Object, map[string]any{"spec": map[string]any{"of": "a Wide"}})
	w.create(w.above, wide)
	w.mustSync(s, in)
	w.mustSync(w.syncer(&v1alpha1.PublishedResourceSpec{}), w.input)
	of := map[types.UID]any{}
	for _, c := range w.copies(w.cluster) {
		of[c.GetUID()], _, _ = unstructured.NestedFieldNoCopy(c.Object, "spec", "of")
	}
	if is, ok := of[left.GetUID()]; len(of) != 2 || !ok || is != nil {
		t.Errorf("want the copy that was left as it was, and another, got %v", of)
	}
	kube.Delete(t, w.above, wide)
	w.mustSync(s, in)
	if w.theCopy(w.cluster).GetUID() != left.GetUID() || w.read(in.Workspace.Side, wides.Workspace, in.Object) != nil {
		t.Error("want the object without a namespace gone with its copy alone")
	}
}

// TestUnnamespacedFiltered shows that an object without a namespace passes no filter of namespaces, and that to look is
// no mistake.
func TestUnnamespacedFiltered(t *testing.T) {
	for name, namespace := range map[string]string{
		"Labels": `{"matchLabels":{"stage":"prod"}}`,
		"Not":    `{"matchExpressions":[{"key":"stage","operator":"DoesNotExist"}]}`,
		"Name":   `"prod"`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := w.input
			in.Object = types.NamespacedName{Name: w.cluster}
			w.create(w.above, objectOf(wides.Workspace, in.Object, map[string]any{}))
			filter := &v1alpha1.ResourceFilter{Namespace: &v1alpha1.NamespaceFilter{Raw: []byte(namespace)}}
			s := w.syncerOf(wides, &v1alpha1.PublishedResourceSpec{Filter: filter})
			w.writesNothing("object that is filtered", s, in)
		})
	}
}
