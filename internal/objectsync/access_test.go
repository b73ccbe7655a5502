package objectsync_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/sides"
)

// withoutServers returns a world in memory, and what its service cluster has.
func withoutServers(t *testing.T) (*world, *memory) {
	t.Helper()
	below := newMemory()
	w := &world{T: t, cluster: "c1", state: "states", holdings: map[objectsync.Primary][]objectsync.Holding{}}
	w.input = objectsync.Input{
		Workspace: objectsync.Workspace{
			Side: newMemory().side(), ShowsAll: sides.ShowsAll,
			Workspace: gotemplate.Workspace{Cluster: w.cluster, Path: "root:org"},
		},
		Service: below.side(), Holders: w, Claimed: &sync.Map{},
		Object: types.NamespacedName{Namespace: "default", Name: "web"},
	}
	return w, below
}

// neighbor returns the input of an object of the same name in another workspace in memory.
func (w *world) neighbor() objectsync.Input {
	in := w.input
	in.Workspace.Cluster, in.Workspace.Side = "c2", newMemory().side()
	return in
}

// workspaceOf returns what the workspace of an input in memory has.
func workspaceOf(in objectsync.Input) *memory { return in.Workspace.Writer.(*memory) }

// enter has the consumer of an input enter fields of the spec.
func enter(in objectsync.Input, fields map[string]any) {
	at := things.Workspace.GroupVersionResource
	u := thing(in.Object)
	if was := workspaceOf(in).get(at, in.Object); was != nil {
		u = was.DeepCopy()
	}
	u.Object["spec"] = fields
	workspaceOf(in).put(at, u)
}

// secretIn puts a Secret with a value into a side.
func (m *memory) secretIn(namespace, name, value string, change ...func(u *unstructured.Unstructured)) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"k": value},
	}}
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(m.nextUID())
	for _, f := range change {
		f(u)
	}
	m.put(objectsync.Secrets, u)
}

// valueOf returns the value of a Secret, empty if there is none.
func (m *memory) valueOf(namespace, name string) string {
	u := m.get(objectsync.Secrets, types.NamespacedName{Namespace: namespace, Name: name})
	if u == nil {
		return ""
	}
	return u.Object["data"].(map[string]any)["k"].(string)
}

// resync syncs an object until it has nothing more to do, and returns the last error.
func (w *world) resync(s *objectsync.Syncer, in objectsync.Input) error {
	w.Helper()
	var err error
	for range 4 {
		var r objectsync.Result
		r, err = s.Sync(w.Context(), in)
		w.keep(s, in, r)
	}
	return err
}

// end has an object of a memory wait for its finalizers.
func (m *memory) end(r schema.GroupVersionResource, n types.NamespacedName) {
	u := m.get(r, n).DeepCopy()
	u.SetDeletionTimestamp(new(metav1.Now()))
	m.put(r, u)
}

// remove deletes the object of an input in memory, and all that belongs to it.
func (w *world) remove(s *objectsync.Syncer, in objectsync.Input) {
	w.Helper()
	at := things.Workspace.GroupVersionResource
	workspaceOf(in).end(at, in.Object)
	if err := w.resync(s, in); err != nil || workspaceOf(in).get(at, in.Object) != nil {
		w.Errorf("want the object gone, got %v", err)
	}
}

// TestRefusedBlocksNobody shows that who names what it may not does not keep it from whom it belongs to.
func TestRefusedBlocksNobody(t *testing.T) {
	w, below := withoutServers(t)
	s := w.syncer(related(v1alpha1.OriginService, inPlace(byReference("spec.secretName").RelatedResourceObjectSpec)))
	thief := w.neighbor()
	enter(thief, map[string]any{"place": w.cluster, "secretName": "tls"})
	enter(w.input, map[string]any{"place": w.cluster, "secretName": "tls"})
	if err := w.resync(s, thief); !errors.Is(err, objectsync.ErrClosed) {
		t.Errorf("want ErrClosed for the thief, got %v", err)
	}
	below.secretIn(w.cluster, "tls", "b25l")
	if err := w.resync(s, w.input); err != nil {
		t.Errorf("want it synced for whom it belongs to, got %v", err)
	}
	if got := workspaceOf(w.input).valueOf("default", "tls"); got != "b25l" {
		t.Errorf("want the Secret where it belongs, got %q", got)
	}
	if got := workspaceOf(thief).valueOf("default", "tls"); got != "" {
		t.Errorf("leaked: %q", got)
	}
}

// TestObjectInPlaceOfCopy shows that an object which somebody has made where a copy was is neither overwritten nor
// deleted with the consumer's object, and that the copy is made again when it is gone.
func TestObjectInPlaceOfCopy(t *testing.T) {
	for name, agents := range map[string]bool{"Ours": false, "Agents": true} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
			enter(w.input, map[string]any{"secretName": "tls"})
			workspaceOf(w.input).secretIn("default", "tls", "b25l")
			sync := func() error { return w.resync(s, w.input) }
			if err := sync(); err != nil {
				t.Fatal(err)
			}
			if agents { // Its copies carry nothing.
				u := below.get(objectsync.Secrets, types.NamespacedName{Namespace: w.cluster, Name: "tls"}).DeepCopy()
				u.SetLabels(nil)
				u.SetAnnotations(nil)
				below.put(objectsync.Secrets, u)
				if err := sync(); err != nil {
					t.Fatal(err)
				}
			}
			below.secretIn(w.cluster, "tls", "b3BlcmF0b3I=")
			workspaceOf(w.input).secretIn("default", "tls", "dHdv", func(u *unstructured.Unstructured) {
				u.SetFinalizers([]string{objectsync.Finalizer})
			})
			if err := sync(); !errors.Is(err, objectsync.ErrForeign) {
				t.Errorf("want ErrForeign, got %v", err)
			}
			if got := below.valueOf(w.cluster, "tls"); got != "b3BlcmF0b3I=" {
				t.Errorf("overwritten: %q", got)
			}
			below.drop(objectsync.Secrets, types.NamespacedName{Namespace: w.cluster, Name: "tls"})
			if err := sync(); err != nil || below.valueOf(w.cluster, "tls") != "dHdv" {
				t.Errorf("want the copy made again, got %v, %q", err, below.valueOf(w.cluster, "tls"))
			}
			below.secretIn(w.cluster, "tls", "b3BlcmF0b3I=")
			w.remove(s, w.input)
			if got := below.valueOf(w.cluster, "tls"); got != "b3BlcmF0b3I=" {
				t.Errorf("deleted with the object of the consumer: %q", got)
			}
		})
	}
}

// TestCopyIsNoOrigin shows that selectors of both directions do not copy each other's copies.
func TestCopyIsNoOrigin(t *testing.T) {
	w, below := withoutServers(t)
	spec := related(v1alpha1.OriginKCP, selecting("down-{{ .Value }}", "x"))
	also(spec, "up", v1alpha1.OriginService, selecting("up-{{ .Value }}", "x"))
	s := w.syncer(spec)
	labelled := func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"app": "x"}) }
	workspaceOf(w.input).secretIn("default", "a", "b25l", labelled)
	below.secretIn(w.cluster, "b", "dHdv", labelled)
	enter(w.input, map[string]any{})
	w.settle(s, w.input)
	got := slices.Concat(workspaceOf(w.input).secretNames("default"), below.secretNames(w.cluster))
	if diff := cmp.Diff([]string{"a", "up-b", "b", "down-a"}, got); diff != "" {
		t.Errorf("Secrets of the workspace and of the service cluster: -want, +got:\n%s", diff)
	}
}

// selecting selects what has a label, and names copies by a template.
func selecting(rewrite, label string) v1alpha1.RelatedResourceObject {
	s := &v1alpha1.RelatedResourceSelector{
		Rewrite: v1alpha1.SelectorRewrite{Template: &v1alpha1.TemplateExpression{Template: rewrite}},
	}
	s.MatchLabels = map[string]string{"app": label}
	return located(v1alpha1.RelatedResourceObjectSpec{Selector: s})
}

// sharing has the copies of all workspaces in memory put into namespace shared.
func sharing(spec *v1alpha1.PublishedResourceSpec) *v1alpha1.PublishedResourceSpec {
	spec.Naming = &v1alpha1.ResourceNaming{Namespace: "shared", Name: "$remoteClusterName-$remoteNameHash"}
	return spec
}

// secretNames returns the names of the Secrets in a namespace, sorted.
func (m *memory) secretNames(namespace string) []string {
	var out []string
	for n := range m.all[objectsync.Secrets] {
		if n.Namespace == namespace {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}

// TestClusterScopedIsNobodys shows that an object without a namespace is not taken for one in the workspace's own: it
// is neither adopted as a copy nor read as a related object because a consumer has its name.
func TestClusterScopedIsNobodys(t *testing.T) {
	at := wides.Service.GroupVersionResource
	named := func(name string) *unstructured.Unstructured {
		u := objectOf(wides.Service, types.NamespacedName{Name: name}, map[string]any{"spec": map[string]any{"size": "L"}})
		u.SetUID("the operator's")
		return u
	}
	t.Run("Copy", func(t *testing.T) {
		w, below := withoutServers(t)
		s := w.syncerOf(objectsync.Pair{Workspace: things.Workspace, Service: wides.Service},
			&v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{Name: "$remoteName"}})
		below.put(at, named("web"))
		enter(w.input, map[string]any{"size": "S"})
		if err := w.resync(s, w.input); !errors.Is(err, objectsync.ErrExists) {
			t.Errorf("want ErrExists, got %v", err)
		}
	})
	t.Run("Related", func(t *testing.T) {
		w, below := withoutServers(t)
		spec := related(v1alpha1.OriginService, byReference("spec.class"))
		s := w.newSyncer(objectsync.Config{
			Spec: spec, Primary: things, Related: map[string]objectsync.Pair{"tls": wides},
		})
		below.put(at, named("shared"))
		enter(w.input, map[string]any{"class": "shared"})
		if err := w.resync(s, w.input); !errors.Is(err, objectsync.ErrClosed) {
			t.Errorf("want ErrClosed, got %v", err)
		}
		leaked := types.NamespacedName{Name: "shared"}
		if u := workspaceOf(w.input).get(wides.Workspace.GroupVersionResource, leaked); u != nil {
			t.Errorf("leaked: %v", u)
		}
	})
}

// withPlain puts a Plain into the workspace of an input, to which things of the service cluster are related, and
// returns its input.
func withPlain(in objectsync.Input, size string) objectsync.Input {
	in.Object.Name = "plain"
	workspaceOf(in).put(plains.Workspace.GroupVersionResource,
		objectOf(plains.Workspace, in.Object, map[string]any{"spec": map[string]any{"size": size}}))
	return in
}

func labelledX(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetLabels(map[string]string{"app": "x"})
	return u
}

// names returns the names of all there is of a resource, sorted.
func (m *memory) names(r schema.GroupVersionResource) (out []string) {
	for n := range m.all[r] {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out
}

// TestCopiesOfPublishedKind shows that where objects of an API are synced that is also related to another one, neither
// does a copy of an object of the consumer come up again, nor does a copy of a related object go down: they would
// become more and more.
func TestCopiesOfPublishedKind(t *testing.T) {
	w, below := withoutServers(t)
	above := workspaceOf(w.input)
	in := withPlain(w.input, "S")
	s := w.syncerOf(plains, related(v1alpha1.OriginService, selecting("up-{{ .Value }}", "x")))
	ofThings := w.syncer(&v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{Name: "down-$remoteName"}})
	above.put(things.Workspace.GroupVersionResource, labelledX(thing(w.input.Object)))
	below.put(things.Service.GroupVersionResource, labelledX(objectOf(things.Service,
		types.NamespacedName{Namespace: w.cluster, Name: "operators"}, map[string]any{})))
	for range 3 {
		for _, name := range above.names(things.Workspace.GroupVersionResource) {
			one := w.input
			one.Object.Name = name
			w.settle(ofThings, one)
		}
		w.settle(s, in)
	}
	got := above.names(things.Workspace.GroupVersionResource)
	if diff := cmp.Diff([]string{"up-operators", "web"}, got); diff != "" {
		t.Errorf("in the workspace: -want, +got:\n%s", diff)
	}
	got = below.names(things.Service.GroupVersionResource)
	if diff := cmp.Diff([]string{"down-web", "operators"}, got); diff != "" {
		t.Errorf("on the service cluster: -want, +got:\n%s", diff)
	}
}

// TestCopyOfAnotherWorkspace shows that the copy of an object of one workspace is not given to another one that may
// name all that is in its place.
func TestCopyOfAnotherWorkspace(t *testing.T) {
	w, _ := withoutServers(t)
	victim, in := w.input, withPlain(w.neighbor(), "c1-web")
	naming := &v1alpha1.ResourceNaming{Namespace: "shared", Name: "$remoteClusterName-$remoteName"}
	workspaceOf(victim).put(things.Workspace.GroupVersionResource, thing(victim.Object))
	w.settle(w.syncer(&v1alpha1.PublishedResourceSpec{Naming: naming}), victim)
	spec := open(related(v1alpha1.OriginService, byReference("spec.size")))
	spec.Naming = naming
	w.settle(w.syncerOf(plains, spec), in)
	if got := workspaceOf(in).names(things.Workspace.GroupVersionResource); len(got) != 0 {
		t.Errorf("want nothing in the other workspace, got %q", got)
	}
}
