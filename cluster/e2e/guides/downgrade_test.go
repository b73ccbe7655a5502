//go:build history

package guides

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
)

// newerFields is an Object with a field that the older CRDs lack.
const newerFields = `kubectl apply -f - <<'END'
apiVersion: kubernetes.m.crossplane.io/v1alpha1
kind: Object
metadata:
  namespace: default
  name: newer
spec:
  providerConfigRef: {kind: ClusterProviderConfig, name: remote}
  forProvider:
    onImmutableChange: Recreate
    manifest: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}, data: {color: blue}}
END
kubectl wait --for=condition=Ready objects.kubernetes.m.crossplane.io/newer --timeout=1m
`

// TestDowngrade goes back to an older build, in the folder FORMER with its CRDs, and forth again, by the commands of
// docs/how-to/operate-a-fleet.md. Each makes or deletes no resource of the other and follows changes, and Objects lose
// no field that both know. It is run by make downgrade only, as the older build comes from the history.
func TestDowngrade(t *testing.T) {
	former, err := filepath.Abs(os.Getenv("FORMER"))
	if err != nil {
		t.Fatal(err)
	}
	elected := provider.Options{Args: []string{"--leader-election"}}
	d, shop := idleDesk(t), openHats(t)
	p := d.start(t, elected)
	d.fill(t)
	shop.publish(t, d)
	d.Run(t, newerFields)
	steps := guide.Commands(t, filepath.Join(top, "docs", "how-to", "operate-a-fleet.md"), "## Downgrade")
	// The namespace of a process is that of its kubeconfig.
	holder := d.Run(t, strings.Replace(steps[0], "-n crossplane-system", "-n default", 1))
	if strings.HasPrefix(holder, "slots=") {
		t.Errorf("holder of the Lease: want none of a shard, got %s", holder)
	}
	specs, resources, m := d.specs(t), shop.resources(t), target.Audit(t).Mark()
	back := elected
	back.Binary = filepath.Join(former, "provider")
	for _, to := range []struct {
		provider.Options

		crds, region, message, size string
	}{
		{back, filepath.Join(former, "package", "crds"), "eu", "good night", "M"},
		{elected, "package/crds", "us", "good morning", "L"},
	} {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		d.Run(t, "kubectl apply -f "+to.crds)
		p = d.start(t, to.Options)
		d.Run(t, `kubectl patch configmap site -n default --type=merge -p '{"data":{"region":"`+to.region+`"}}'
kubectl patch greetings.platform.example.org morning --type=merge -p '{"spec":{"message":"`+to.message+`"}}'
kubectl --kubeconfig remote.kubeconfig wait configmap/settings -n shop --timeout=2m \
  --for=jsonpath='{.data.region}'=`+to.region+`
kubectl --kubeconfig remote.kubeconfig wait configmap/morning --timeout=2m \
  --for=jsonpath='{.data.message}'='`+to.message+`'`)
		shop.awaitSynced(t, to.size)
		d.awaitRestored(t)
		if diff := cmp.Diff(resources, shop.resources(t)); diff != "" {
			t.Errorf("resources on the target: -before, +after:\n%s", diff)
		}
	}
	if again := madeAgain(t, m); len(again) > 0 {
		t.Errorf("going back and forth has made and deleted resources:\n%s", again)
	}
	after := d.specs(t)
	const newer = "Object newer"
	for _, all := range []map[string]map[string]any{specs, after} { // What the older build writes loses the field.
		unstructured.RemoveNestedField(all[newer], "forProvider", "onImmutableChange")
	}
	if diff := cmp.Diff(specs, after); diff != "" {
		t.Errorf("specs: -before, +after:\n%s", diff)
	}
}
