package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestColumnsAreOfOneCondition shows that kubectl's columns REASON and MESSAGE tell of one condition, also if another
// one is False, too, and has no message.
func TestColumnsAreOfOneCondition(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.object(build.ConfigMap("no-"+w.target, "settings"))
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, wantCondition{Type: xpv2.TypeReady, Status: "False"})
		message := awaitCondition(t, w.c, o, failed(commonv1.ReasonNamespaceMissing))

		gvk, err := w.c.GroupVersionKindFor(o)
		if err != nil {
			t.Fatal(err)
		}
		got := local.Columns(t, gvk.GroupVersion().WithResource("objects"), client.ObjectKeyFromObject(o))
		if got["REASON"] != string(commonv1.ReasonNamespaceMissing) || got["MESSAGE"] != message {
			t.Errorf("want reason NamespaceMissing and message %q, got %v and %v", message, got["REASON"], got["MESSAGE"])
		}
	})
}
