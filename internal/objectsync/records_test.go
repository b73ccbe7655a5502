package objectsync_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// relating returns a syncer of plains with one related thing of the workspace, named rel.
func (w *world) relating() *objectsync.Syncer {
	w.Helper()
	return w.syncerOf(plains, related(v1alpha1.OriginKCP,
		located(v1alpha1.RelatedResourceObjectSpec{Template: &v1alpha1.TemplateExpression{Template: "rel"}})))
}

// TestTwoNamesOfOne shows that an object may refer to one Secret by two rules: the one copy comes without a word, stays
// as long as one of them names it, and goes with the object.
func TestTwoNamesOfOne(t *testing.T) {
	w, below := withoutServers(t)
	spec := related(v1alpha1.OriginKCP, byReference("spec.admin"))
	also(spec, "user", v1alpha1.OriginKCP, byReference("spec.user"))
	s, uids := w.syncer(spec), map[types.UID]bool{}
	workspaceOf(w.input).secretIn("default", "creds", "b25l")
	workspaceOf(w.input).secretIn("default", "other", "b25l")
	for _, user := range []string{"creds", "other"} {
		enter(w.input, map[string]any{"admin": "creds", "user": user})
		_, first := s.Sync(t.Context(), w.input)
		if err := w.resync(s, w.input); err != nil || first != nil {
			t.Fatal(first, err)
		}
		origin := workspaceOf(w.input).get(objectsync.Secrets, types.NamespacedName{Namespace: "default", Name: "creds"})
		copied := below.get(objectsync.Secrets, types.NamespacedName{Namespace: w.cluster, Name: "creds"})
		if uids[copied.GetUID()] = true; len(uids) != 1 || !objectsync.HasFinalizer(origin) {
			t.Errorf("want the one copy, and the Secret held, got %v", origin)
		}
	}
	if diff := cmp.Diff([]string{"creds", "other"}, below.secretNames(w.cluster)); diff != "" {
		t.Errorf("copies: -want, +got:\n%s", diff)
	}
	if w.remove(s, w.input); len(below.secretNames(w.cluster)) > 0 {
		t.Error("something is left")
	}
}

// withPart returns a world in memory with a Plain of the consumer and the Thing that is related to it, both synced.
func withPart(t *testing.T) (w *world, above, below *memory, part types.NamespacedName) {
	t.Helper()
	w, below = withoutServers(t)
	above, part = workspaceOf(w.input), types.NamespacedName{Namespace: "default", Name: "rel"}
	above.put(plains.Workspace.GroupVersionResource, objectOf(plains.Workspace, w.input.Object, map[string]any{}))
	u := thing(part)
	u.SetUID("part")
	above.put(things.Workspace.GroupVersionResource, u)
	return w, above, below, part
}

// TestUnreadableCopies shows that copies which cannot be looked at keep what they are of.
func TestUnreadableCopies(t *testing.T) {
	gr := things.Service.GroupResource()
	denied := apierrors.NewForbidden(gr, "", errBoom)
	for name, tc := range map[string]struct {
		reason string
		err    error
		ends   bool // The object is deleted.
	}{
		"NotServed":      {reason: "The API may be served again.", err: apierrors.NewNotFound(gr, "")},
		"Denied":         {reason: "What must not be looked at may be there.", err: denied},
		"DeniedAtTheEnd": {reason: "And is to go first.", err: denied, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, above, _, part := withPart(t)
			w.settle(w.relating(), w.input)
			if tc.ends {
				above.end(plains.Workspace.GroupVersionResource, w.input.Object)
			}
			in := w.input
			in.Service = blindTo(in.Service, things.Service.GroupVersionResource, tc.err)
			if err := w.resync(w.syncerOf(plains, &v1alpha1.PublishedResourceSpec{}), in); err == nil {
				t.Errorf("%s got no error", tc.reason)
			}
			if got := above.get(things.Workspace.GroupVersionResource, part); !objectsync.HasFinalizer(got) {
				t.Errorf("%s want the related object held, got %v", tc.reason, got.GetFinalizers())
			}
			if above.get(plains.Workspace.GroupVersionResource, in.Object) == nil {
				t.Errorf("%s the object is gone", tc.reason)
			}
		})
	}
}

// TestRelatedWithACopyOfItsOwn shows that a related object which is itself synced is let go by that alone, with its
// copy.
func TestRelatedWithACopyOfItsOwn(t *testing.T) {
	w, above, below, part := withPart(t)
	own, one := w.syncer(&v1alpha1.PublishedResourceSpec{}), w.input
	one.Object = part
	w.settle(own, one)
	w.settle(w.relating(), w.input)
	if got := below.names(things.Service.GroupVersionResource); len(got) != 2 {
		t.Fatalf("want a copy of its own and one as a related object, got %v", got)
	}
	above.end(plains.Workspace.GroupVersionResource, w.input.Object)
	w.settle(w.relating(), w.input)
	got := above.get(things.Workspace.GroupVersionResource, part)
	if !objectsync.HasFinalizer(got) || slices.Contains(below.names(things.Service.GroupVersionResource), "rel") {
		t.Fatalf("want the object held for its own copy, and the other one gone, got %v", got)
	}
	w.remove(own, one)
	if got := below.names(things.Service.GroupVersionResource); len(got) != 0 {
		t.Errorf("want the object gone with its copy, got %v", got)
	}
}

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
		w, below := withoutServers(t)
		from, to, at, copies := below, workspaceOf(w.input), w.cluster, "default"
		if origin == v1alpha1.OriginKCP {
			from, to, at, copies = to, from, copies, at
		}
		both, second := twice(origin), twice(origin)
		second.Related = second.Related[1:]
		is := func(when string, rules *v1alpha1.PublishedResourceSpec, value, first, other string) {
			t.Helper()
			from.set(objectsync.Secrets, at, "tls", value, "data", "k")
			if err := w.resync(w.syncer(rules), w.input); err != nil {
				t.Errorf("%s, %s: %v", origin, when, err)
			}
			if a, b := to.valueOf(copies, "a"), to.valueOf(copies, "b"); a != first || b != other {
				t.Errorf("%s, %s: want %q and %q, got %q and %q", origin, when, first, other, a, b)
			}
			tls := from.get(objectsync.Secrets, types.NamespacedName{Namespace: at, Name: "tls"})
			if held := objectsync.HasFinalizer(tls); held != (origin == v1alpha1.OriginKCP && other != "") {
				t.Errorf("%s, %s: held %t", origin, when, held)
			}
		}
		from.secretIn(at, "tls", "")
		enter(w.input, map[string]any{})
		is("made", both, "b25l", "b25l", "b25l")
		is("changed", both, "dHdv", "dHdv", "dHdv")
		w.mergeSlots(below, origin)
		is("changed, with one slot in the state", both, "dGhyZWU=", "dGhyZWU=", "dGhyZWU=")
		is("without the first rule", second, "dGhyZWU=", "", "dGhyZWU=")
		is("changed, without the first rule", second, "Zm91cg==", "", "Zm91cg==")
		is("with both rules again", both, "Zml2ZQ==", "Zml2ZQ==", "Zml2ZQ==")
		workspaceOf(w.input).end(things.Workspace.GroupVersionResource, w.input.Object)
		is("without the object", both, "Zml2ZQ==", "", "")
	}
}

// mergeSlots makes the state one of api-syncagent, which has one slot for all copies of an object, and no list of them.
func (w *world) mergeSlots(below *memory, origin v1alpha1.Origin) {
	w.Helper()
	key := stateKey("", w.cluster, "tls")
	if origin == v1alpha1.OriginKCP {
		key = stateKey(w.cluster, "default", "tls")
	}
	at, merged := types.NamespacedName{Namespace: "states", Name: below.secretNames("states")[0]}, 0
	data := below.get(objectsync.Secrets, at).DeepCopy().Object["data"].(map[string]any)
	for slot, value := range maps.Clone(data) {
		b, err := base64.StdEncoding.DecodeString(value.(string))
		if err != nil {
			w.Fatal(err)
		}
		if strings.Contains(string(b), `"kind":"Secret","metadata"`) {
			delete(data, slot)
			data[key] = value
			merged++
		}
	}
	if merged != 2 {
		w.Fatalf("want the Secret remembered for each copy, got %v", sortedKeys(data))
	}
	delete(data, "related")
	below.set(objectsync.Secrets, at.Namespace, at.Name, data, "data")
}
