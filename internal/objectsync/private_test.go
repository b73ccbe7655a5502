package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// private is metadata that a consumer may want to have on the service cluster, and only the first of each list may come
// there.
const private = `{"metadata":{
	"labels":{"team":"a","syncagent.kcp.io/agent-name":"stolen","syncagent.kcp.io/remote-object-cluster":"stolen",
		"crossplane.io/claim-name":"x"},
	"annotations":{"note":"b","syncagent.kcp.io/remote-object-name":"stolen","syncagent.kcp.io/orphaned":"true",
		"crossplane.io/paused":"true"}
}}`

// TestPrivateMetadataLater shows that metadata of ours and of Crossplane do not come down with a change either, nor
// with a related object, and that the consumer's object gets none but the finalizer.
func TestPrivateMetadataLater(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
	w.create(w.above, thing(w.input.Object))
	origin := newSecret(w.input.Object.Namespace, "tls", "one")
	w.create(w.above, origin)
	w.mustSync(s, w.input)
	if u := w.source(w.input); len(u.GetLabels())+len(u.GetAnnotations()) != 0 || len(u.GetFinalizers()) != 1 {
		t.Errorf("want the finalizer alone on the consumer's object, got %v", u.Object["metadata"])
	}
	before := w.theCopy(w.cluster)
	w.patch(w.above, thing(w.input.Object), private)
	w.patch(w.above, origin, private)
	w.mustSync(s, w.input)
	after := w.theCopy(w.cluster)
	labels, annotations := before.GetLabels(), before.GetAnnotations()
	labels["team"], annotations["note"] = "a", "b"
	if diff := cmp.Diff([]map[string]string{labels, annotations},
		[]map[string]string{after.GetLabels(), after.GetAnnotations()}); diff != "" {
		t.Errorf("labels and annotations of the copy: -want, +got:\n%s", diff)
	}
	copied := &corev1.Secret{}
	kube.Get(t, w.below, types.NamespacedName{Namespace: w.cluster, Name: "tls"}, copied)
	want := []map[string]string{
		{"team": "a", objectsync.LabelRelatedCluster: w.cluster},
		{
			"note": "b", objectsync.AnnotationRelatedObject: "Secret " + w.input.Object.Namespace + "/tls",
			objectsync.AnnotationRelatedUID: string(origin.UID),
		},
	}
	if diff := cmp.Diff(want, []map[string]string{copied.Labels, copied.Annotations}); diff != "" {
		t.Errorf("labels and annotations of the related copy: -want, +got:\n%s", diff)
	}
	if got := after.GetAnnotations()[objectsync.AnnotationOrphaned]; got != "" {
		t.Errorf("the copy counts as left behind: %q", got)
	}
}
