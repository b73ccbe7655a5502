package e2e_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// TestFirstLine shows that the log of the program begins with what an operator asks first: which version runs, with
// which flags, and where.
func TestFirstLine(t *testing.T) {
	clients(t)
	p := start(t, "--poll=7m")
	first := map[string]any{}
	kube.Eventually(t, "the first line of the log", func() (bool, string) {
		line, _, whole := strings.Cut(p.Log(), "\n")
		return whole && json.Unmarshal([]byte(line), &first) == nil, line
	})
	flags, _ := first["flags"].(map[string]any)
	want := map[string]any{
		"level": "info", "msg": "Starting provider-kcp", "version": version(t), "control-plane": local.Config().Host,
		"poll": "7m0s",
	}
	got := map[string]any{
		"level": first["level"], "msg": first["msg"], "version": first["version"],
		"control-plane": first["control-plane"], "poll": flags["poll"],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first line of the log: -want, +got:\n%s\n%v", diff, first)
	}
}

// version returns what the program says its version is.
func version(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program.Built(t), "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	v := strings.TrimSpace(string(out))
	if v == "" || strings.ContainsAny(v, " \n") {
		t.Errorf("want a version and nothing else, got %q", out)
	}
	return v
}
