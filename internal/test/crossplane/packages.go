package crossplane

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

// installFunction lets Crossplane install the package of a function that runs at an address.
func installFunction(t testing.TB, c client.Client, host, name, addr string) {
	t.Helper()
	image := host + "/crossplane-contrib/" + strings.TrimPrefix(name, "crossplane-contrib-") + ":v1.0.0"
	meta := fmt.Appendf(nil, "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: %s\n", name)
	oci.Push(t, image, fstest.MapFS{"package.yaml": {Data: meta, Mode: 0o644}})
	f := pkg("Function", name)
	if err := unstructured.SetNestedField(f.Object, image, "spec", "package"); err != nil {
		t.Fatal(err)
	}
	kube.Create(t, c, f)
	// What runs functions says which certificates they have, where they are, and that they run.
	patch := client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[
		{"op": "add", "path": "/status/tlsServerSecretName", "value": "crossplane-root-ca"},
		{"op": "add", "path": "/status/endpoint", "value": %q},
		{"op": "add", "path": "/status/conditions/-", "value": {
			"type": "RuntimeHealthy", "status": "True", "reason": "HealthyPackageRevision", "lastTransitionTime": %q
		}}
	]`, addr, time.Now().UTC().Format(time.RFC3339)))
	kube.Eventually(t, "the revision of "+name, func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(f), f); err != nil {
			return false, err.Error()
		}
		revision, _, _ := unstructured.NestedString(f.Object, "status", "currentRevision")
		if revision == "" {
			return false, fmt.Sprint(f.Object["status"])
		}
		err := c.Status().Patch(t.Context(), pkg("FunctionRevision", revision), patch)
		return err == nil, fmt.Sprint(err)
	})
}

// InstallConfiguration builds a Configuration of a folder, and lets Crossplane install it from a registry.
func InstallConfiguration(t testing.TB, c client.Client, host, dir string) {
	t.Helper()
	crank, err := local.Binary("crank")
	if err != nil {
		t.Fatal(err)
	}
	name := "capabilities-" + filepath.Base(dir)
	file, image := filepath.Join(t.TempDir(), "package.xpkg"), host+"/crossplane-contrib/"+name+":v0.1.0"
	for _, args := range [][]string{
		{"xpkg", "build", "--package-root=" + dir, "--examples-root=" + t.TempDir(), "--package-file=" + file},
		{"xpkg", "push", "--package-files=" + file, image},
	} {
		if out, err := exec.Command(crank, args...).CombinedOutput(); err != nil {
			t.Fatalf("crossplane %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	u := pkg("Configuration", name)
	u.Object["spec"] = map[string]any{"package": image, "skipDependencyResolution": true}
	kube.Create(t, c, u)
	kube.Eventually(t, "Configuration "+name, func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return false, err.Error()
		}
		healthy, why := kube.Condition(u, "Healthy")
		return healthy == "True", why
	})
}

// pkg names a package of Crossplane.
func pkg(kind, name string) *unstructured.Unstructured {
	return build.Resource("pkg.crossplane.io/v1", kind, "", name)
}
