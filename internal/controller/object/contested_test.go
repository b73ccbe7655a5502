package object_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestTokenWaitsForItsAccount shows that an Object of a Secret for a token, which the target deletes as long as the
// ServiceAccount does not exist, names that, sends nothing meanwhile, and makes the Secret as soon as it is there.
func TestTokenWaitsForItsAccount(t *testing.T) {
	t.Parallel()
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	secret := parse(t, `{"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/service-account-token","metadata":{
		"namespace":"`+w.target+`","name":"token","annotations":{"kubernetes.io/service-account.name":"robot"}}}`)
	o := w.object(build.Manifest(secret.Object))
	kube.Create(t, c, o)
	token := &corev1.Secret{ObjectMeta: build.Meta(w.target, "token")}
	kube.Eventually(t, "the Object to name the ServiceAccount", func() (bool, string) {
		_ = w.tc.Delete(t.Context(), token.DeepCopy()) // As the token controller does.
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		s := o.GetCondition(xpv2.TypeSynced)
		return s.Reason == commonv1.ReasonWaitingForReference &&
			strings.Contains(s.Message, "ServiceAccount "+w.target+"/robot"), conditions(o) + message(err)
	})
	mark := target.Audit(t).Mark()
	holds(t, c, "nothing is sent", func() (bool, string) {
		got := target.Audit(t).Since(mark).By(user)
		return !strings.Contains(got.String(), w.target), got.String()
	}, o)
	kube.Create(t, w.tc, &corev1.ServiceAccount{ObjectMeta: build.Meta(w.target, "robot")})
	awaitCondition(t, c, o, synced)
	kube.Get(t, w.tc, client.ObjectKeyFromObject(token), token)
	kube.Remove(t, c, o)
}

// TestFinalizersAreContested shows that a webhook which takes our finalizers off does not make the provider write again
// and again, that the Object says so and makes nothing that would outlive it, and that it goes on when that ends.
func TestFinalizersAreContested(t *testing.T) {
	t.Parallel()
	const most = 15 // It was two dozen a second.
	c := provide(t)
	for name, tc := range map[string]struct {
		resource string
		probe    func(w world) client.Object
		refs     func(w world) []commonv1.Reference
		want     []string
	}{
		"Own": {
			resource: "objects",
			probe:    func(w world) client.Object { return w.keeper("probe") },
			refs:     func(world) []commonv1.Reference { return nil },
			want:     []string{"webhook"},
		},
		"Pin": {
			resource: "configmaps",
			probe: func(w world) client.Object {
				return &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "probe")}
			},
			refs: func(w world) []commonv1.Reference { return []commonv1.Reference{w.onConfigMap("source")} },
			want: []string{"cannot add the finalizer of the provider to ConfigMap", "webhook"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c, build.Namespaced())
			w.source(t, "source", nil)
			probe := tc.probe(w)
			probe.SetFinalizers([]string{"example.org/probe"})
			end := kube.Mutate(t, c, w.namespace, tc.resource, probe,
				func(u *unstructured.Unstructured) { u.SetFinalizers(nil) })
			mark := local.Audit(t).Mark()
			o := w.keeper("held", tc.refs(w)...)
			kube.Create(t, c, o)
			awaitCondition(t, c, o, wantCondition{Type: xpv2.TypeSynced, Status: corev1.ConditionFalse}, tc.want...)
			holds(t, c, "few writes", func() (bool, string) {
				all, n := local.Audit(t).Since(mark).By(user), 0
				for _, e := range all {
					if e.Verb == "patch" && e.Namespace == w.namespace {
						n++
					}
				}
				return n < most, all.String()
			})
			err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(w.kept("held")), w.kept("held"))
			if !apierrors.IsNotFound(err) {
				t.Errorf("want nothing made that would outlive the Object, got %v", err)
			}
			end()
			touch(t, c, o)
			awaitReady(t, c, o)
			kube.Remove(t, c, o)
		})
	}
}

// stripLabel has a webhook take our label off the ConfigMaps of a world, until the function that it returns is called.
func (w world) stripLabel(t *testing.T) (end func()) {
	t.Helper()
	probe := w.kept("probe")
	probe.SetLabels(map[string]string{commonv1.LabelKeyManaged: commonv1.LabelValueManaged})
	return kube.Mutate(t, w.tc, w.target, "configmaps", probe, func(u *unstructured.Unstructured) {
		unstructured.RemoveNestedField(u.Object, "metadata", "labels", commonv1.LabelKeyManaged)
	})
}

// TestLabelDoesNotStay shows that drift is reverted, a deletion noticed and the status kept where admission takes our
// label off, of a resource that had it and of one that never has, that the Object says so, asks nothing at rest, and
// leaves nothing behind, and that it says so no more when the label is back.
func TestLabelDoesNotStay(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		had, never := w.keeper("had"), w.keeper("never")
		createReady(t, c, had)
		end := w.stripLabel(t)
		kube.Patch(t, w.tc, w.kept("had"), `{"data":{"color":"red"}}`)
		w.awaitData(t, "had", "color", "blue")
		kube.Create(t, c, never)
		for _, o := range []build.Object{had, never} {
			awaitCondition(t, c, o, failed(commonv1.ReasonContested), "label "+commonv1.LabelKeyManaged)
			awaitCondition(t, c, o, ready)
		}
		w.asksNothing(t, had, never)

		for name, o := range map[string]build.Object{"had": had, "never": never} {
			kube.Patch(t, w.tc, w.kept(name), `{"data":{"color":"red","theirs":"yes"}}`)
			w.awaitData(t, name, "color", "blue", "theirs", "yes")
			awaitObserved(t, c, o, map[string]string{"color": "blue", "theirs": "yes"})
			was := w.kept(name)
			w.exists(t, was, true)
			kube.Delete(t, w.tc, w.kept(name))
			kube.Eventually(t, "another one", func() (bool, string) {
				is := &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, name)}
				err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(is), is)
				return err == nil && is.GetUID() != was.GetUID(), message(err)
			})
			awaitObserved(t, c, o, map[string]string{"color": "blue"})
		}
		w.asksNothing(t, had, never)
		kube.Remove(t, c, never)
		w.exists(t, w.kept("never"), false)

		end()
		kube.Patch(t, w.tc, w.kept("had"), `{"metadata":{"labels":{"`+commonv1.LabelKeyManaged+`":"true"}}}`)
		awaitCondition(t, c, had, synced)
		w.asksNothing(t, had)
		kube.Patch(t, w.tc, w.kept("had"), `{"data":{"color":"red"}}`)
		w.awaitData(t, "had", "color", "blue")
		kube.Remove(t, c, had)
		w.exists(t, w.kept("had"), false)
	})
}

// TestLeavingIsNotReady shows that a resource which somebody deletes, and a finalizer holds, is not ready, whatever the
// policy, whether its Object keeps it or only looks at it: who waits for it waits, nothing is applied to it, and it is
// made again when it is gone.
//
// provider-kubernetes says Ready, and applies the manifest to what is going.
func TestLeavingIsNotReady(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		kept, asked, seen := w.keeper("kept"), w.keeper("asked"), w.keeper("seen")
		asked.Desired().Readiness = queries("object.data.color == 'blue'")
		seen.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "kept"))
		seen.SetManagementPolicies(observeOnly)
		createReady(t, c, kept, asked, seen)

		endHold, endOther := hold(t, w.tc, w.kept("kept")), hold(t, w.tc, w.kept("asked"))
		awaitReady(t, c, kept, asked, seen)
		mark := target.Audit(t).Mark()
		kube.Delete(t, w.tc, w.kept("kept"), w.kept("asked"))
		for _, o := range []build.Object{kept, asked, seen} {
			awaitMessage(t, c, o, unavailable, "The resource is being deleted; finalizers: "+theirFinalizer)
		}
		awaitCondition(t, c, seen, synced)
		for _, o := range []build.Object{kept, asked} {
			awaitCondition(t, c, o, failed(commonv1.ReasonWaitingForDeletion),
				"is being deleted; finalizers: "+theirFinalizer, "applies the manifest after the deletion")
		}
		after := w.on("kept")
		after.DependsOn.WaitFor = commonv1.WaitForReady
		late := w.keeper("late", after)
		kube.Create(t, c, late)
		awaitCondition(t, c, late, failed(commonv1.ReasonWaitingForReference), "to be ready")
		setManifest(t, c, kept, build.ConfigMap(w.target, "kept", "color", "red"))
		w.asksNothing(t, kept, asked, seen, late)
		w.checkAsked(t, mark, nil)

		endHold()
		endOther()
		w.awaitData(t, "kept", "color", "red")
		awaitReady(t, c, kept, asked, seen, late)
		kube.Remove(t, c, late, seen, asked, kept)
	})
}
