package application_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// service returns a template of a Service with a port and a ClusterIP.
func (w world) service(address string) workloadv1alpha1.ResourceTemplate {
	return build.ResourceTemplate("web", build.Manifest{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"namespace": w.tns, "name": "web"},
		"spec": map[string]any{"clusterIP": address, "ports": []any{map[string]any{"name": "http", "port": int64(80)}}},
	})
}

// TestPortChangedByHand shows that a Service has the port of its template although somebody has given it another
// number, that a change which the cluster does not make is refused with what cures it, and that the cure does.
func TestPortChangedByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.application("web", w.service("10.0.0.7"))
	w.submit(t, app)
	s := &corev1.Service{ObjectMeta: build.Meta(w.tns, "web")}
	port := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/ports/0/port","value":81}]`))
	if err := w.tc.Patch(t.Context(), s, port, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	kube.Await(t, w.tc, s, "the port of the template", func() (bool, string) {
		return len(s.Spec.Ports) == 1 && s.Spec.Ports[0].Port == 80, fmt.Sprint(s.Spec.Ports)
	})

	change(t, w.c, app, func(app *application) {
		app.Spec.ResourceTemplates = []workloadv1alpha1.ResourceTemplate{w.service("10.0.0.8")}
	})
	r := w.awaitResource(t, "web", workloadv1alpha1.StateFailed, commonv1.ReasonInvalidManifest)
	if got := conditions(r); !strings.Contains(got, "delete the resource on the target, and it is made again") {
		t.Errorf("want the way out, got %s", got)
	}
	kube.Delete(t, w.tc, s)
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
}
