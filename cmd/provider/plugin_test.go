package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestPlugin shows that a credential plugin gets its arguments and the environment as they are, and that its output and
// exit code are passed on.
func TestPlugin(t *testing.T) {
	t.Setenv("SAID", "hello")
	for name, tc := range map[string]struct {
		args []string
		out  string
		code int
		err  string
	}{
		"Output":   {args: []string{"sh", "-c", `echo "$SAID $*"`, "--help", "--debug", "-"}, out: "hello --debug -\n"},
		"ExitCode": {args: []string{"sh", "-c", "echo no; exit 3"}, out: "no\n", code: 3, err: `plugin "sh": exit status 3`},
		"Killed":   {args: []string{"sh", "-c", "kill -9 $$"}, code: -1, err: `credential plugin "sh": signal: killed`},
		"Missing":  {args: []string{"/missing"}, code: -1, err: "/missing: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			code, err := runPlugin(t.Context(), &out, tc.args)
			if diff := cmp.Diff([]any{tc.out, tc.code}, []any{out.String(), code}); diff != "" {
				t.Errorf("output and exit code: -want, +got:\n%s", diff)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("want error %q, got %v", tc.err, err)
			}
		})
	}
}

// TestPluginLeavesAProcess shows that the output of a credential plugin ends with it, be it held by what it has
// started: client-go waits for that.
func TestPluginLeavesAProcess(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	code, err := runPlugin(t.Context(), w, []string{"sh", "-c", "sleep 1000 2>/dev/null & echo $!"})
	if code != 0 {
		t.Errorf("want success, got code %d and %v", code, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("want the process to go on, as it is nobody's: %v", err)
	}
}

// TestPluginThatHangs shows that a credential plugin is killed when its time is over, with what it has started.
func TestPluginThatHangs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	path := filepath.Join(t.TempDir(), "pids")
	ended := make(chan error)
	go func() {
		_, err := runPlugin(ctx, os.Stdout, []string{"sh", "-c", "sleep 1000 & echo $! $$ > " + path + "; wait"})
		ended <- err
	}()
	var started []string
	kube.Eventually(t, "the plugin to start", func() (bool, string) {
		content, _ := os.ReadFile(path)
		started = strings.Fields(string(content))
		return len(started) == 2, string(content)
	})
	cancel() // As when its time is over.
	if err := <-ended; err == nil || !strings.Contains(err.Error(), `plugin "sh": the plugin did not stop within 15s`) {
		t.Errorf("want it to be told that the plugin did not end, got %v", err)
	}
	for _, pid := range started {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		kube.Eventually(t, "process "+pid+" to end", func() (bool, string) {
			stat, _ := os.ReadFile("/proc/" + pid + "/stat") // Nobody may collect an orphan that has ended.
			return errors.Is(syscall.Kill(n, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z "), string(stat)
		})
	}
}
