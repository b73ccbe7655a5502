// Package restart_test shows that a change whose write waits is written although the provider stops meanwhile.
package restart_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	soon   = time.Minute
	admins = "system:masters"
)

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// start runs the provider until it is stopped.
func start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	wait := provider.StartUntil(t, ctx, local.User(t, "provider", admins))
	stop = func() { cancel(); wait() }
	t.Cleanup(stop)
	return stop
}

// shown returns the color that an Object shows.
func shown(t *testing.T, c client.Client, o build.Object) string {
	t.Helper()
	kube.Get(t, c, client.ObjectKeyFromObject(o), o)
	cm := &corev1.ConfigMap{}
	if err := json.Unmarshal(o.Observed().Manifest.Raw, cm); err != nil && len(o.Observed().Manifest.Raw) > 0 {
		t.Fatal(err)
	}
	return cm.Data["theirs"]
}

// TestLastStateSurvivesRestart shows that the next provider shows what the last one has kept back.
func TestLastStateSurvivesRestart(t *testing.T) {
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	c, tc, s := local.Client(t, apis.AddToScheme), target.Client(t), build.Namespaced()
	stop := start(t)
	ns, tns := local.Namespace(t), target.Namespace(t)
	o := s.Object(ns, "settings", "target", build.ConfigMap(tns, "settings", "ours", "yes"))
	kube.Create(t, c, build.Credentials(ns, "credentials", kube.Kubeconfig(t, target.User(t, "provider", admins))),
		s.Config(ns, "target", build.FromSecret(ns, "credentials")), o)
	provider.AwaitReady(t, c, o)
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(tns, "settings")}
	kube.Patch(t, tc, cm, `{"data":{"theirs":"new"}}`)
	stop()
	if got := shown(t, c, o); got != "" {
		t.Fatalf("want the change to wait when the provider stops, it shows %q", got)
	}
	start(t)
	kube.Eventually(t, "the last state to be shown", func() (bool, string) {
		got := shown(t, c, o)
		return got == "new", got
	})
}
