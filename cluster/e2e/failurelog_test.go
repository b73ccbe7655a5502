package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestFailuresAreLogged shows that the log of the program begins with its version and flags, and has one line when an
// Object fails, however often it is tried again, and one when it fails no more.
func TestFailuresAreLogged(t *testing.T) {
	c, tc := clients(t)
	p := start(t, "--poll=7m")
	s := build.Namespaced()
	ns := credentials(t, c)
	connect(t, c, s, ns)
	o := s.Object(ns, "early", ns, build.ConfigMap(ns, "early", "color", "blue"))
	kube.Create(t, c, o)
	awaitReason(t, c, o, commonv1.ReasonNamespaceMissing)
	failed := []string{"Condition has failed " + string(commonv1.ReasonNamespaceMissing)}
	awaitLines(t, p, o, failed)
	kube.Holds(t, "the failure is logged once", func() (bool, string) {
		diff := cmp.Diff(failed, linesAbout(p, o))
		return diff == "", diff
	}, func() {
		before := reconciles(t, p)
		kube.Eventually(t, "another attempt", func() (bool, string) { return reconciles(t, p) > before, "" })
	})
	first, _, _ := strings.Cut(p.Log(), "\n")
	for _, part := range []string{`"level":"info"`, `"msg":"Starting provider-kcp"`, `"version":"`, `"poll":"7m0s"`} {
		if !strings.Contains(first, part) {
			t.Errorf("the first line of the log lacks %s: %s", part, first)
		}
	}
	kube.Create(t, tc, &corev1.Namespace{ObjectMeta: build.Meta("", ns)})
	awaitReady(t, c, o)
	awaitLines(t, p, o, append(failed, "Condition no longer fails ReconcileSuccess"))
}

// awaitLines waits until the log of a process has lines about an Object.
func awaitLines(t *testing.T, p *provider.Process, o client.Object, want []string) {
	t.Helper()
	kube.Eventually(t, "lines of the log", func() (bool, string) {
		diff := cmp.Diff(want, linesAbout(p, o))
		return diff == "", diff
	})
}

// linesAbout returns the messages and reasons of the lines of a log about the synchronization of an Object.
func linesAbout(p *provider.Process, o client.Object) []string {
	var out []string
	for line := range strings.Lines(p.Log()) {
		said := map[string]any{}
		if json.Unmarshal([]byte(line), &said) != nil || said["name"] != o.GetName() ||
			said["namespace"] != o.GetNamespace() || said["condition"] != "Synced" {
			continue
		}
		message, _ := said["msg"].(string)
		reason, _ := said["reason"].(string)
		out = append(out, message+" "+reason)
	}
	return out
}
