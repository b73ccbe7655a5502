package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A forger is somebody who may write on the service cluster, in the namespace of the copies and in another one.
type forger struct {
	*world

	below  *memory
	forged []*unstructured.Unstructured // as they were made
}

// newForger returns a world in memory whose copies are in namespace shared, the syncer of it, and where the copy is to
// be.
func newForger(t *testing.T) (*forger, *objectsync.Syncer, types.NamespacedName) {
	t.Helper()
	w, below := withoutServers(t)
	workspaceOf(w.input).secretIn("default", "tls", "b25l")
	return &forger{world: w, below: below},
		w.syncer(open(sharing(related(v1alpha1.OriginKCP, byReference("spec.secretName"))))),
		types.NamespacedName{Namespace: "shared", Name: "c1-" + gotemplate.ShortSHA1("web")}
}

// copyAt makes an object that says that it is the copy of the victim's object.
func (f *forger) copyAt(namespace, name string) {
	is := objectsync.Identity{
		Primary: objectsync.Primary{NamespacedName: f.input.Object, Cluster: f.cluster},
		Agent:   "agent", Publication: "publication", Kind: schema.GroupKind{Group: "ws.example.com", Kind: "Thing"},
	}
	u := objectOf(things.Service, types.NamespacedName{Namespace: namespace, Name: name},
		map[string]any{"spec": map[string]any{"of": "the forger", "secretName": "tls"}})
	u.SetLabels(is.Labels())
	u.SetAnnotations(is.Annotations())
	u.SetUID(f.below.nextUID())
	f.below.put(things.Service.GroupVersionResource, u)
	f.forged = append(f.forged, u)
}

// secretAt makes a Secret that says that it is the copy of a Secret of the victim.
func (f *forger) secretAt(namespace, name, of string) {
	f.below.secretIn(namespace, name, "forged", func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{objectsync.LabelRelatedCluster: f.cluster})
		u.SetAnnotations(map[string]string{objectsync.AnnotationRelatedObject: "Secret default/" + of})
		f.forged = append(f.forged, u)
	})
}

// everywhere makes forged copies beside the victim's, and in the other namespace.
func (f *forger) everywhere() {
	for _, ns := range []string{"shared", "other"} {
		f.copyAt(ns, "forged")
		f.secretAt(ns, "forged", "tls")
	}
	f.secretAt("other", "tls", "tls")
}

// leftAlone fails unless what was forged is as it was made.
func (f *forger) leftAlone(when string) {
	f.Helper()
	for _, was := range f.forged {
		at := client.ObjectKeyFromObject(was)
		if f.below.get(things.Service.GroupVersionResource, at) != was && f.below.get(objectsync.Secrets, at) != was {
			f.Errorf("%s: %s %s of the forger has been touched", when, was.GetKind(), at)
		}
	}
}

// syncs has the victim enter a size and give its Secret a value, and syncs that. The copy is to be at a place then, and
// the Secret beside it.
func (f *forger) syncs(when string, s *objectsync.Syncer, at types.NamespacedName, size, value string) {
	f.Helper()
	enter(f.input, map[string]any{"size": size, "secretName": "tls"})
	workspaceOf(f.input).set(objectsync.Secrets, "default", "tls", value, "data", "k")
	f.settle(s, f.input)
	u := f.below.get(things.Service.GroupVersionResource, at)
	if u == nil || u.Object["spec"].(map[string]any)["size"] != size || f.below.valueOf("shared", "tls") != value {
		f.Fatalf("%s: want the copy of size %s and the Secret, got %v, %q", when, size, u, f.below.valueOf("shared", "tls"))
	}
	f.leftAlone(when)
}

// ends deletes the victim's object, and fails unless it goes with all of its own alone.
func (f *forger) ends(s *objectsync.Syncer, at types.NamespacedName) {
	f.Helper()
	f.remove(s, f.input)
	if f.below.get(things.Service.GroupVersionResource, at) != nil || f.below.valueOf("shared", "tls") != "" ||
		len(f.below.secretNames("states")) != 0 {
		f.Error("want the object gone with its copy, its related copy and its state")
	}
	f.leftAlone("in the end")
}

// TestForgedMarks shows that who writes the marks of a copy on other objects of the service cluster gets nothing, keeps
// the victim from nothing, and is left alone, whenever that is.
func TestForgedMarks(t *testing.T) {
	for name, tc := range map[string]struct {
		reason                             string
		before                             func(f *forger)
		losesCopy, losesState, losesSecret bool
		renamesState                       bool // as for another version of the API
	}{
		"Before": {reason: "The copy is not there yet.", before: (*forger).everywhere},
		"BeforeAlone": {
			reason: "Nothing else says that it is the copy.", before: func(f *forger) { f.copyAt("other", "forged") },
		},
		"After":        {reason: "The copy is there."},
		"WithoutCopy":  {reason: "The copy is made again where it was.", losesCopy: true},
		"WithoutState": {reason: "The copy is where naming has it.", losesState: true},
		"OtherState":   {reason: "The state has the name of another version.", renamesState: true},
		"WithoutAll":   {reason: "Nothing is known of the copy.", losesCopy: true, losesState: true, losesSecret: true},
	} {
		t.Run(name, func(t *testing.T) {
			f, s, at := newForger(t)
			if tc.before != nil {
				tc.before(f)
			}
			f.syncs("when it is made", s, at, "S", "b25l")
			if tc.before == nil {
				f.everywhere()
			}
			if tc.losesCopy {
				f.below.drop(things.Service.GroupVersionResource, at)
			}
			if tc.losesSecret {
				f.below.drop(objectsync.Secrets, types.NamespacedName{Namespace: "shared", Name: "tls"})
			}
			if tc.losesState {
				delete(f.holdings, objectsync.Primary{NamespacedName: f.input.Object, Cluster: f.cluster})
				f.below.drop(objectsync.Secrets,
					types.NamespacedName{Namespace: "states", Name: f.below.secretNames("states")[0]})
			}
			if tc.renamesState {
				was := types.NamespacedName{Namespace: "states", Name: f.below.secretNames("states")[0]}
				state := f.below.get(objectsync.Secrets, was).DeepCopy()
				state.SetName(was.Name + "0")
				f.below.drop(objectsync.Secrets, was)
				f.below.put(objectsync.Secrets, state)
			}
			f.syncs(tc.reason, s, at, "S", "b25l")
			f.syncs(tc.reason, s, at, "L", "dHdv")
			f.ends(s, at)
		})
	}
}

// TestForgedLost shows that what says that it is the copy of an object which was never synced is not deleted as one
// whose object has gone.
func TestForgedLost(t *testing.T) {
	f, s, _ := newForger(t)
	f.everywhere()
	if err := s.Release(t.Context(), f.input); err != nil {
		t.Errorf("want nothing to release, got %v", err)
	}
	if err := s.Abandon(t.Context(), f.input); err != nil {
		t.Error(err)
	}
	f.leftAlone("after the release")
}

// TestForgedInPlace shows that a Secret with the marks of a copy is not taken for one where the state does not say that
// there is or will be one: it was there before, and does not get what the consumer names next, by however many objects.
func TestForgedInPlace(t *testing.T) {
	f, s, at := newForger(t)
	f.syncs("when it is made", s, at, "S", "b25l")
	workspaceOf(f.input).secretIn("default", "next", "dHdv")
	f.secretAt("shared", "next", "next")
	enter(f.input, map[string]any{"secretName": "next"})
	second := f.second()
	enter(second, map[string]any{"secretName": "next"})
	for _, in := range []objectsync.Input{f.input, second, f.input, second} {
		if err := f.resync(s, in); !errors.Is(err, objectsync.ErrForeign) {
			t.Errorf("%s: want ErrForeign, got %v", in.Object.Name, err)
		}
	}
	f.remove(s, second)
	f.ends(s, at)
}

// TestMovedByNaming shows that a copy stays where the state says it is after the rule for names has changed; that the
// copy of a new object is where that rule has it; and that what has the marks of a copy elsewhere counts for nothing.
func TestMovedByNaming(t *testing.T) {
	f, s, at := newForger(t)
	f.syncs("when it is made", s, at, "S", "b25l")
	spec := open(sharing(related(v1alpha1.OriginKCP, byReference("spec.secretName"))))
	spec.Naming.Name = "new-$remoteClusterName-$remoteNameHash"
	s = f.syncer(spec)
	f.everywhere()
	f.copyAt("shared", "new-"+at.Name)
	f.syncs("after the change of the rule", s, at, "L", "dHdv")
	second := f.second()
	enter(second, map[string]any{})
	if err := f.resync(s, second); err != nil {
		t.Error(err)
	}
	if f.below.get(things.Service.GroupVersionResource, types.NamespacedName{
		Namespace: "shared", Name: "new-c1-" + gotemplate.ShortSHA1("second"),
	}) == nil {
		t.Error("want the copy of a new object by the new rule")
	}
	f.remove(s, second)
	f.ends(s, at)
}

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
				w.settle(s, w.input)
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
