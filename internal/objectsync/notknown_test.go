package objectsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestNotKnown shows that what cannot be looked at does not count as absent: a related object whose copy is not known
// is not copied, and copies of one that is not known are not given up.
func TestNotKnown(t *testing.T) {
	above := func(in *objectsync.Input, err error) { in.Workspace.Side = veil(in.Workspace.Side, "tls", err) }
	below := func(in *objectsync.Input, err error) { in.Service = veil(in.Service, "tls", err) }
	for name, tc := range map[string]struct {
		origin v1alpha1.Origin
		veil   func(in *objectsync.Input, err error)
	}{
		"DownOrigin": {origin: v1alpha1.OriginKCP, veil: above}, "DownCopy": {origin: v1alpha1.OriginKCP, veil: below},
		"UpOrigin": {origin: v1alpha1.OriginService, veil: below}, "UpCopy": {origin: v1alpha1.OriginService, veil: above},
	} {
		t.Run(name, func(t *testing.T) {
			w, service := withoutServers(t)
			s, from, at := w.syncer(related(tc.origin, byReference("spec.secretName"))), service, w.cluster
			if tc.origin == v1alpha1.OriginKCP {
				from, at = workspaceOf(w.input), "default"
			}
			in := w.input
			tc.veil(&in, errBoom)
			are := func(when string, err error, up, down string) {
				t.Helper()
				got, gotUp, gotDown := w.resync(s, in), workspaceOf(in).valueOf("default", "tls"), service.valueOf("c1", "tls")
				if !errors.Is(got, err) || gotUp != up || gotDown != down {
					t.Errorf("%s: want %v and the Secrets %q and %q, got %v, %q, %q", when, err, up, down, got, gotUp, gotDown)
				}
			}
			enter(in, map[string]any{"secretName": "tls"})
			from.secretIn(at, "tls", "b25l")
			one := map[bool]string{true: "b25l"}
			are("not known", errBoom, one[tc.origin == v1alpha1.OriginKCP], one[tc.origin == v1alpha1.OriginService])
			in = w.input
			are("known", nil, "b25l", "b25l")
			tc.veil(&in, errBoom)
			in.Workspace.Side, in.Service = tap(in.Workspace.Side, writesNothing(t)), tap(in.Service, writesNothing(t))
			if _, err := s.Sync(t.Context(), in); !errors.Is(err, errBoom) {
				t.Errorf("want %v, got %v", errBoom, err)
			}
			in = w.input
			from.set(objectsync.Secrets, at, "tls", "dHdv", "data", "k")
			are("known again", nil, "dHdv", "dHdv")
		})
	}
}

// writesNothing returns what fails for each write.
func writesNothing(t *testing.T) func(*write) error {
	t.Helper()
	return func(w *write) error {
		t.Errorf("want nothing written, got %s of %s/%s", w.verb, w.namespace, w.name)
		return w.send()
	}
}

// TestTakenMeanwhile shows that what somebody has made after the look, where a copy was to be, is neither overwritten
// nor deleted with the object.
func TestTakenMeanwhile(t *testing.T) {
	for name, origin := range map[string]v1alpha1.Origin{"Down": v1alpha1.OriginKCP, "Up": v1alpha1.OriginService} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			s, above := w.syncer(related(origin, byReference("spec.secretName"))), workspaceOf(w.input)
			enter(w.input, map[string]any{"secretName": "tls"})
			above.secretIn("default", "tls", "the consumer's")
			below.secretIn(w.cluster, "tls", "the operator's")
			in := w.input
			if origin == v1alpha1.OriginKCP {
				in.Service = veil(in.Service, "tls", nil)
			} else {
				in.Workspace.Side = veil(in.Workspace.Side, "tls", nil)
			}
			if err := w.resync(s, in); !apierrors.IsConflict(err) {
				t.Errorf("want to look again, got %v", err)
			}
			if err := w.resync(s, w.input); !errors.Is(err, objectsync.ErrForeign) {
				t.Errorf("want ErrForeign, got %v", err)
			}
			w.remove(s, w.input)
			got := []string{above.valueOf("default", "tls"), below.valueOf(w.cluster, "tls")}
			if diff := cmp.Diff([]string{"the consumer's", "the operator's"}, got); diff != "" {
				t.Errorf("neither overwritten nor deleted: -want, +got:\n%s", diff)
			}
		})
	}
}

// before returns a side where something is done before each write of what has a name.
func before(s objectsync.Side, verb, name string, do func()) objectsync.Side {
	return tap(s, func(w *write) error {
		if w.verb == verb && w.name == name {
			do()
		}
		return w.send()
	})
}

// TestReplacedBeforeWrite shows that what somebody makes in the place of a copy between the look and the write gets
// nothing of it.
func TestReplacedBeforeWrite(t *testing.T) {
	w := newWorld(t)
	s, origin := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName"))), thing(w.input.Object)
	w.create(w.above, origin)
	w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "one"))
	w.mustSync(s, w.input)
	w.patch(w.above, newSecret(w.input.Object.Namespace, "tls", ""), `{"data":{"k":"dHdv"}}`)
	w.patch(w.above, origin, `{"spec":{"size":7}}`)
	copied, related := w.theCopy(w.cluster), newSecret(w.cluster, "tls", "the operator's")
	at := client.ObjectKeyFromObject(copied)
	operators := objectOf(things.Service, at, map[string]any{"spec": map[string]any{"of": "the operator"}})
	for _, u := range []client.Object{operators, related} {
		in := w.input
		in.Service = before(in.Service, "patch", u.GetName(), func() {
			kube.Delete(t, w.below, u.DeepCopyObject().(client.Object))
			w.create(w.below, u)
		})
		if _, err := s.Sync(t.Context(), in); !apierrors.IsConflict(err) {
			t.Errorf("%s: want a conflict, got %v", u.GetName(), err)
		}
	}
	is := w.read(w.input.Service, things.Service, at)
	if diff := cmp.Diff(operators.Object["spec"], is.Object["spec"]); diff != "" {
		t.Errorf("written: -want, +got:\n%s", diff)
	}
	if got := w.secretOf(w.below, w.cluster, "tls")["k"]; got != "the operator's" {
		t.Errorf("written: %q", got)
	}
}

// TestReplacedBeforeStatus shows the same of the status of a copy. Servers do not compare UIDs there.
func TestReplacedBeforeStatus(t *testing.T) {
	w := newWorld(t)
	spec := related(v1alpha1.OriginKCP, byReference("spec.thing"))
	spec.Related[0].SyncStatus = true
	s := w.syncerOf(plains, spec)
	w.create(w.above, objectOf(plains.Workspace, w.input.Object, map[string]any{"spec": map[string]any{"thing": "part"}}))
	w.mustSync(s, w.input)
	at := types.NamespacedName{Namespace: w.cluster, Name: "part"}
	from, to := thing(w.input.Object), objectOf(things.Service, at, map[string]any{})
	from.SetName(at.Name)
	w.create(w.above, from)
	w.mustSync(s, w.input)
	w.patchStatus(w.above, from, `{"status":{"phase":"x"}}`)
	in := w.input
	in.Service = before(in.Service, "patch", at.Name, func() {
		kube.Delete(t, w.below, to.DeepCopy())
		w.create(w.below, to.DeepCopy())
	})
	if _, err := s.Sync(t.Context(), in); !apierrors.IsConflict(err) {
		t.Errorf("want a conflict, got %v", err)
	}
	if got := w.read(w.input.Service, things.Service, at).Object["status"]; got != nil {
		t.Errorf("written: %v", got)
	}
}

// role returns the content of a RoleBinding.
func role(name string) map[string]any {
	return map[string]any{"roleRef": map[string]any{
		"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name,
	}}
}

// relates returns a syncer of things with one related object, of the same name on both sides.
func (w *world) relates(origin v1alpha1.Origin, r objectsync.Resource) *objectsync.Syncer {
	w.Helper()
	spec := related(origin,
		located(v1alpha1.RelatedResourceObjectSpec{Template: &v1alpha1.TemplateExpression{Template: "rel"}}))
	return w.newSyncer(objectsync.Config{
		Spec: spec, Primary: things,
		Related: map[string]objectsync.Pair{spec.Related[0].Name(): {Workspace: r, Service: r}},
	})
}

// TestReplacedOrigin shows that a related object which has been replaced unseen, by one into which its copy cannot be
// changed, gets a copy of its own, once for all objects that share it. A copy that can be changed stays.
func TestReplacedOrigin(t *testing.T) {
	opaque := func(value string) map[string]any {
		return map[string]any{"type": "Opaque", "data": map[string]any{"k": value}}
	}
	cases := map[string]struct {
		reason   string
		resource objectsync.Resource
		was, is  map[string]any
		stays    bool
	}{
		"Type": {
			reason: "The type of a Secret cannot be changed.", resource: secret, was: opaque("b25l"),
			is: map[string]any{"type": "example.org/other", "data": map[string]any{"k": "dHdv"}},
		},
		"Field": {
			reason: "Nor some fields of other kinds.", was: role("one"), is: role("two"),
			resource: objectsync.Resource{
				GroupVersionResource: rbacv1.SchemeGroupVersion.WithResource("rolebindings"), Kind: "RoleBinding",
				Scope: v1alpha1.ScopeNamespaced,
			},
		},
		"Changed": {
			reason: "What others have added to a copy that can be changed stays.", resource: secret, stays: true,
			was: opaque("b25l"), is: opaque("dHdv"),
		},
	}
	for name, tc := range cases {
		for _, from := range []v1alpha1.Origin{v1alpha1.OriginService, v1alpha1.OriginKCP} {
			t.Run(name+"/"+string(from), func(t *testing.T) {
				w := newWorld(t)
				s, second := w.relates(from, tc.resource), w.second()
				w.ensureNamespace(w.cluster)
				at := types.NamespacedName{Namespace: w.cluster, Name: "rel"}
				copyAt := types.NamespacedName{Namespace: w.input.Object.Namespace, Name: "rel"}
				c, other, to := w.below, w.above, w.input.Workspace.Side
				if from == v1alpha1.OriginKCP {
					at, copyAt, c, other, to = copyAt, at, w.above, w.below, w.input.Service
				}
				for _, in := range []objectsync.Input{w.input, second} {
					w.create(w.above, thing(in.Object))
				}
				origin := objectOf(tc.resource, at, runtime.DeepCopyJSON(tc.was))
				w.create(c, origin.DeepCopy())
				w.mustSync(s, w.input)
				w.mustSync(s, second)
				was := w.read(to, tc.resource, copyAt)
				w.patch(other, was.DeepCopy(), `{"metadata":{"labels":{"added":"by-another"}}}`)

				w.replace(c, origin, objectOf(tc.resource, at, runtime.DeepCopyJSON(tc.is)))
				w.mustSync(s, w.input)
				is := w.read(to, tc.resource, copyAt)
				if is == nil || (is.GetUID() == was.GetUID()) != tc.stays ||
					(is.GetLabels()["added"] != "") != tc.stays {
					t.Fatalf("%s want the copy to stay %t, got %v", tc.reason, tc.stays, is)
				}
				for field, want := range tc.is {
					if diff := cmp.Diff(want, is.Object[field]); diff != "" {
						t.Errorf("%s %s: -want, +got:\n%s", tc.reason, field, diff)
					}
				}
				w.mustSync(s, second)
				if got := w.read(to, tc.resource, copyAt); got.GetUID() != is.GetUID() {
					t.Error("want the copy made once for both objects")
				}
				w.writesNothing("first at rest", s, w.input)
				w.writesNothing("second at rest", s, second)
			})
		}
	}
}

// replace makes an object in place of another one, which nobody sees being deleted.
func (w *world) replace(c client.Client, was, is *unstructured.Unstructured) {
	w.Helper()
	w.patch(c, was.DeepCopy(), `{"metadata":{"finalizers":null}}`)
	kube.Delete(w, c, was)
	w.create(c, is)
}

// TestImmutableCopy shows that a copy which others have made immutable stays as it is, as its origin is the same, and
// that the consumer is told which side refuses what. A copy of the new content comes when that one is deleted.
func TestImmutableCopy(t *testing.T) {
	for from, says := range map[v1alpha1.Origin]string{
		v1alpha1.OriginService: "This workspace does not accept Secret ",
		v1alpha1.OriginKCP:     "The provider of the service does not accept Secret ",
	} {
		t.Run(string(from), func(t *testing.T) {
			w := newWorld(t)
			s := w.relates(from, secret)
			w.ensureNamespace(w.cluster)
			w.create(w.above, thing(w.input.Object))
			mine := types.NamespacedName{Namespace: w.input.Object.Namespace, Name: "rel"}
			origin, copied := newSecret(w.cluster, "rel", "one"), newSecret(mine.Namespace, "rel", "")
			c, other, side := w.below, w.above, "the workspace rejects the write"
			if from == v1alpha1.OriginKCP {
				origin, copied = newSecret(mine.Namespace, "rel", "one"), newSecret(w.cluster, "rel", "")
				c, other, side = w.above, w.below, "the service cluster rejects the write"
			}
			w.create(c, origin)
			w.mustSync(s, w.input)
			w.patch(other, copied.DeepCopy(), `{"immutable":true}`)
			w.patch(c, origin, `{"data":{"k":"dHdv"}}`)
			all, err := w.sync(s, w.input)
			told := all[len(all)-1].Events
			if objectsync.RefusalOf(err) == nil || !strings.Contains(err.Error(), side) || len(told) != 1 ||
				!strings.HasPrefix(told[0].Message, says+mine.String()) {
				t.Errorf("want to be told that %s, got %v, %v", side, told, err)
			}
			if got := w.secretOf(other, copied.Namespace, "rel")["k"]; got != "one" {
				t.Errorf("want the copy as it was, got %q", got)
			}
			kube.Delete(t, other, copied)
			w.mustSync(s, w.input)
			if got := w.secretOf(other, copied.Namespace, "rel")["k"]; got != "two" {
				t.Errorf("want a new copy, got %q", got)
			}
		})
	}
}
