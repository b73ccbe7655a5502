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
			want: []string{"cannot put the finalizer of the provider on ConfigMap", "webhook"},
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
