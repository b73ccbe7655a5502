package object_test

import (
	"encoding/base64"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestReferenceToSecretOfObject shows that an Object takes a value from the Secret of another and follows its changes,
// where the status shows such values. Package discreet_test shows the same where it does not.
func TestReferenceToSecretOfObject(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		theirs := build.Credentials(w.target, "theirs", []byte("first"))
		kube.Create(t, w.tc, theirs)
		source := w.scope.Object(w.namespace, w.name("source"), w.config, build.Manifest{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": w.target, "name": "theirs"},
		})
		source.SetManagementPolicies(observeOnly)
		reader := w.keeper("reader", commonv1.Reference{
			ToFieldPath: new("data.color"),
			PatchesFrom: &commonv1.PatchesFrom{
				Name: source.GetName(), FieldPath: "status.atProvider.manifest.data.kubeconfig",
			},
		})
		kube.Create(t, w.c, source, reader)
		awaitReady(t, w.c, reader)
		for _, value := range []string{"second", "third"} {
			encoded := base64.StdEncoding.EncodeToString([]byte(value))
			patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"kubeconfig":"`+encoded+`"}}`))
			if err := w.tc.Patch(t.Context(), &corev1.Secret{ObjectMeta: nameOnly(theirs)}, patch); err != nil {
				t.Fatal(err)
			}
			awaitData(t, w.tc, client.ObjectKeyFromObject(w.kept("reader")), map[string]string{"color": encoded})
		}
	})
}
