package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// composites are things with fields that are the platform's.
var composites = objectsync.Pair{
	Workspace: things.Workspace, Service: things.Service,
	PlatformFields: []string{"spec.crossplane", "spec.resourceRef", "status.connectionDetails"},
}

// composites returns the syncer of an API with fields that are the platform's.
func (w *world) composites(steps ...v1alpha1.ResourceMutation) *objectsync.Syncer {
	w.Helper()
	return w.newSyncer(objectsync.Config{
		Spec: &v1alpha1.PublishedResourceSpec{
			EnableWorkspacePaths: true, Mutation: &v1alpha1.ResourceMutations{Spec: steps},
		},
		Primary: composites,
	})
}

// specOf reads the spec of the copy.
func (w *world) specOf() map[string]any {
	w.Helper()
	spec, _, err := unstructured.NestedMap(w.theCopy(w.cluster).Object, "spec")
	if err != nil {
		w.Fatal(err)
	}
	return spec
}

// wantSpec fails unless the copy has a spec.
func (w *world) wantSpec(when string, want map[string]any) {
	w.Helper()
	if diff := cmp.Diff(want, w.specOf()); diff != "" {
		w.Errorf("spec of the copy %s: -want, +got:\n%s", when, diff)
	}
}

// TestForgedFields shows that what a consumer writes into fields of the platform never comes down, also where the
// workspace stores it; that what the platform sets by mutation does, once for each workspace; and that what a composer
// has written there stays, and does not come up.
func TestForgedFields(t *testing.T) {
	w := newWorld(t)
	s := w.composites(byTemplate("spec.place", `{{ .ClusterPath.Base }} {{ hasKey .LocalObject.spec "crossplane" }}`),
		byTemplate("spec.crossplane.compositionRef.name", "of-{{ .ClusterName }}"))
	w.create(w.above, thing(w.input.Object, func(u *unstructured.Unstructured) {
		spec := u.Object["spec"].(map[string]any)
		spec["crossplane"] = map[string]any{
			"compositionRef": map[string]any{"name": "forged"}, "compositionSelector": map[string]any{"forged": "yes"},
		}
		spec["resourceRef"] = map[string]any{"name": "forged"}
		u.SetAnnotations(map[string]string{
			"crossplane.io/external-name": "forged", "apiextensions.crossplane.io/forged": "yes", "note": "n",
		})
		u.SetLabels(map[string]string{"crossplane.io/composite": "forged", "crossplane.io/claim-name": "forged"})
	}))
	w.mustSync(s, w.input)
	want := map[string]any{
		"size": int64(9007199254740993), "secretName": "tls", "place": "org false",
		"crossplane": map[string]any{"compositionRef": map[string]any{"name": "of-" + w.cluster}},
	}
	w.wantSpec("when it is new", want)
	for _, all := range []map[string]string{w.theCopy(w.cluster).GetLabels(), w.theCopy(w.cluster).GetAnnotations()} {
		for key, value := range all {
			if value == "forged" || value == "yes" {
				t.Errorf("the copy has %s: %s", key, value)
			}
		}
	}

	w.patch(w.below, w.theCopy(w.cluster).DeepCopy(), `{
		"metadata":{"annotations":{"crossplane.io/external-name":"composed"}},
		"spec":{"resourceRef":{"name":"composed"},"crossplane":{"resourceRefs":[{"name":"composed"}]}}}`)
	w.patchStatus(w.below, w.theCopy(w.cluster).DeepCopy(),
		`{"status":{"phase":"Ready","connectionDetails":{"lastPublishedTime":"now"}}}`)
	w.patch(w.above, thing(w.input.Object), `{"metadata":{"annotations":{"crossplane.io/external-name":null}},
		"spec":{"size":1,"resourceRef":null,"crossplane":{"resourceRefs":[],"compositionRef":{"name":"again"}}}}`)
	w.mustSync(s, w.input)
	want["size"], want["resourceRef"] = int64(1), map[string]any{"name": "composed"}
	want["crossplane"].(map[string]any)["resourceRefs"] = []any{map[string]any{"name": "composed"}}
	w.wantSpec("after both sides have changed it", want)
	if got := w.theCopy(w.cluster).GetAnnotations()["crossplane.io/external-name"]; got != "composed" {
		t.Errorf("want the composer's annotation, got %q", got)
	}
	if diff := cmp.Diff(map[string]any{"phase": "Ready"}, w.source(w.input).Object["status"]); diff != "" {
		t.Errorf("status for the consumer: -want, +got:\n%s", diff)
	}

	w.patch(w.above, thing(w.input.Object), `{"spec":{"crossplane":null}}`)
	if _, below := w.writes(func() { w.mustSync(s, w.input) }); len(below) > 0 {
		t.Errorf("nothing changes for the copy, got %v", below)
	}
	w.wantSpec("after the consumer has taken it back", want)
}

// TestForgedRelatedFields shows that related objects have no such fields on the other side either, on whichever side
// they are made, and that those a composer writes there stay.
func TestForgedRelatedFields(t *testing.T) {
	for name, origin := range map[string]v1alpha1.Origin{"Down": v1alpha1.OriginKCP, "Up": v1alpha1.OriginService} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(origin, byReference("spec.thing"))
			spec.Related[0].SyncStatus = true
			s := w.newSyncer(objectsync.Config{
				Spec: spec, Primary: plains,
				Related: map[string]objectsync.Pair{spec.Related[0].Name(): composites},
			})
			w.create(w.above, objectOf(plains.Workspace, w.input.Object,
				map[string]any{"spec": map[string]any{"thing": "part"}}))
			w.mustSync(s, w.input)
			ns := w.input.Object.Namespace
			at, to := w.endOf(things.Workspace, ns), w.endOf(things.Service, w.cluster)
			if origin == v1alpha1.OriginService {
				at, to = to, at
			}
			w.create(at.client, objectOf(at.resource, at.name, map[string]any{"spec": map[string]any{
				"size": "L", "crossplane": map[string]any{"compositionRef": map[string]any{"name": "theirs"}},
			}}))
			w.patchStatus(at.client, at.object(), `{"status":{"phase":"x","connectionDetails":{"lastPublishedTime":"now"}}}`)
			w.mustSync(s, w.input)
			w.patch(to.client, to.object(), `{"spec":{"resourceRef":{"name":"composed"}}}`)
			w.patch(at.client, at.object(), `{"spec":{"size":"XL","resourceRef":{"name":"theirs"}}}`)
			w.mustSync(s, w.input)
			got := w.read(to.side, to.resource, to.name)
			want := map[string]any{
				"spec":   map[string]any{"size": "XL", "resourceRef": map[string]any{"name": "composed"}},
				"status": map[string]any{"phase": "x"},
			}
			if diff := cmp.Diff(want, map[string]any{"spec": got.Object["spec"], "status": got.Object["status"]}); diff != "" {
				t.Errorf("on the other side: -want, +got:\n%s", diff)
			}
		})
	}
}

// An end is a related thing on one side.
type end struct {
	client   client.Client
	side     objectsync.Side
	resource objectsync.Resource
	name     types.NamespacedName
}

// endOf returns the related thing in a namespace of the side that has a resource.
func (w *world) endOf(r objectsync.Resource, namespace string) end {
	e := end{w.above, w.input.Workspace.Side, r, types.NamespacedName{Namespace: namespace, Name: "part"}}
	if r == things.Service {
		e.client, e.side = w.below, w.input.Service
	}
	return e
}

func (e end) object() *unstructured.Unstructured {
	return objectOf(e.resource, e.name, map[string]any{})
}
