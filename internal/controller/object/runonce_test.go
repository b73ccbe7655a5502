package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// job returns the manifest of a Job with an image.
func job(namespace, image string) build.Manifest {
	m := build.ConfigMap(namespace, "migrate")
	delete(m, "data")
	m["apiVersion"], m["kind"] = "batch/v1", "Job"
	m["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{
		"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": image}},
	}}}
	return m
}

// TestRunOnce shows that a Job which is to run once is not made again when it has gone, that its Object stays as ready
// as the Job was, and that a changed manifest runs once more.
func TestRunOnce(t *testing.T) {
	c := provide(t)
	for name, policies := range map[string]xpv2.ManagementPolicies{
		"All": nil, "Create": {xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionDelete},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, build.Namespaced())
			o := w.object(job(w.target, "a"))
			o.SetManagementPolicies(policies)
			o.SetAnnotations(map[string]string{commonv1.AnnotationKeyRunOnce: "true"})
			o.Desired().Readiness = queries("object.?status.?failed.orValue(0) == 1")
			kube.Create(t, c, o)
			made := w.awaitJob(t, "a", "")
			kube.PatchStatus(t, w.tc, made, `{"status":{"failed":1}}`)
			awaitReady(t, c, o)
			if err := w.tc.Delete(t.Context(), made, client.PropagationPolicy("Background")); err != nil {
				t.Fatal(err)
			}
			holds(t, c, "the Job is gone, and its Object Ready", func() (bool, string) {
				err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(made), &batchv1.Job{})
				if now := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); now != nil {
					return false, now.Error()
				}
				return apierrors.IsNotFound(err) && o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue,
					conditions(o) + message(err)
			}, o)
			setManifest(t, c, o, job(w.target, "b"))
			w.awaitJob(t, "b", made.UID)
		})
	}
}

// TestImmutableFieldSaysWhatToDo shows that a change which a server does not make is refused with what cures it, and
// that the cure does.
func TestImmutableFieldSaysWhatToDo(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	o := w.object(job(w.target, "a"))
	kube.Create(t, c, o)
	made := w.awaitJob(t, "a", "")
	awaitReady(t, c, o)
	setManifest(t, c, o, job(w.target, "b"))
	awaitCondition(t, c, o, failed(commonv1.ReasonInvalidManifest),
		"delete the resource on the target, and it is made again")
	if err := w.tc.Delete(t.Context(), made, client.PropagationPolicy("Background")); err != nil {
		t.Fatal(err)
	}
	w.awaitJob(t, "b", made.UID)
	awaitCondition(t, c, o, wantCondition{Type: xpv2.TypeSynced, Status: corev1.ConditionTrue})
}

// awaitJob waits until there is a Job with an image that is not the one of a UID, and returns it.
func (w world) awaitJob(t *testing.T, image string, not types.UID) *batchv1.Job {
	t.Helper()
	j := &batchv1.Job{}
	kube.Eventually(t, "the Job", func() (bool, string) {
		err := w.tc.Get(t.Context(), types.NamespacedName{Namespace: w.target, Name: "migrate"}, j)
		return err == nil && j.UID != not && j.Spec.Template.Spec.Containers[0].Image == image, message(err)
	})
	return j
}
