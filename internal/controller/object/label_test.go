package object_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
	forScopes(t, func(t *testing.T, s build.Scope) {
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
			kube.AwaitEvent(t, c, string(targetresource.ReasonWatchedByName), o.GetName(), commonv1.LabelKeyManaged)
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
