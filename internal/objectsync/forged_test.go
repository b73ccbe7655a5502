package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// composites are things with fields that are the platform's.
var composites = objectsync.Pair{
	Workspace: things.Workspace, Service: things.Service,
	PlatformFields: []string{"spec.crossplane", "spec.resourceRef", "status.connectionDetails"},
}

// wantSpec fails unless the copy has a spec.
func (w *world) wantSpec(when string, want map[string]any) {
	w.Helper()
	if diff := cmp.Diff(want, w.theCopy(w.cluster).Object["spec"]); diff != "" {
		w.Errorf("spec of the copy %s: -want, +got:\n%s", when, diff)
	}
}

// TestForgedFields shows that what a consumer writes into fields of the platform never comes down, also where the
// workspace stores it; that what the platform sets by mutation does, once for each workspace; and that what a composer
// has written there stays, and does not come up.
func TestForgedFields(t *testing.T) {
	w := newWorld(t)
	s := w.newSyncer(objectsync.Config{Primary: composites, Spec: &v1alpha1.PublishedResourceSpec{
		EnableWorkspacePaths: true, Mutation: &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{
			byTemplate("spec.place", `{{ .ClusterPath.Base }} {{ hasKey .LocalObject.spec "crossplane" }}`),
			byTemplate("spec.crossplane.compositionRef.name", "of-{{ .ClusterName }}"),
		}},
	}})
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
			w, to := withoutServers(t)
			spec := related(origin, byReference("spec.thing"))
			spec.Related[0].SyncStatus = true
			s := w.newSyncer(objectsync.Config{
				Spec: spec, Primary: plains, Related: map[string]objectsync.Pair{"tls": composites},
			})
			from, is, copied := workspaceOf(w.input), things.Workspace, things.Service
			at, copyAt := types.NamespacedName{Namespace: "default", Name: "part"},
				types.NamespacedName{Namespace: w.cluster, Name: "part"}
			from.put(plains.Workspace.GroupVersionResource,
				objectOf(plains.Workspace, w.input.Object, map[string]any{"spec": map[string]any{"thing": "part"}}))
			if origin == v1alpha1.OriginService {
				from, to, is, copied, at, copyAt = to, from, copied, is, copyAt, at
			}
			for _, fields := range []map[string]any{
				{"size": "L", "crossplane": map[string]any{"compositionRef": map[string]any{"name": "theirs"}}},
				{"size": "XL", "resourceRef": map[string]any{"name": "theirs"}},
			} {
				u := objectOf(is, at, map[string]any{"spec": fields, "status": map[string]any{
					"phase": "x", "connectionDetails": map[string]any{"lastPublishedTime": "now"},
				}})
				u.SetUID("part")
				from.put(is.GroupVersionResource, u)
				if err := w.resync(s, w.input); err != nil {
					t.Fatal(err)
				}
				composed := to.get(copied.GroupVersionResource, copyAt).DeepCopy()
				set("resourceRef", map[string]any{"name": "composed"})(composed)
				to.put(copied.GroupVersionResource, composed)
			}
			got := to.get(copied.GroupVersionResource, copyAt).Object
			want := map[string]any{
				"spec":   map[string]any{"size": "XL", "resourceRef": map[string]any{"name": "composed"}},
				"status": map[string]any{"phase": "x"},
			}
			if diff := cmp.Diff(want, map[string]any{"spec": got["spec"], "status": got["status"]}); diff != "" {
				t.Errorf("on the other side: -want, +got:\n%s", diff)
			}
		})
	}
}
