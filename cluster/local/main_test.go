package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asTests in the environment is the folder of a cluster, and makes the test binary a run of tests against it that never
// ends.
const asTests = "LOCAL_TEST_AS_TESTS"

func TestMain(m *testing.M) {
	dir := os.Getenv(asTests)
	if dir == "" {
		os.Exit(m.Run())
	}
	endless := runFunc(func() int {
		fmt.Println("running")
		select {}
	})
	os.Exit(Main(endless, StartFunc(func(ctx context.Context) (func() error, error) {
		c, err := StartCluster(ctx, ClusterOptions{Dir: dir, ControllerManager: true})
		if err != nil {
			return nil, err
		}
		return c.Stop, nil
	})))
}

// TestMainInterrupted ends runs of tests as people and the kernel do.
func TestMainInterrupted(t *testing.T) {
	for name, tc := range map[string]struct {
		signal syscall.Signal
		code   int // -1 is killed by a signal
	}{
		"Interrupt": {signal: syscall.SIGINT, code: interrupted}, // Ctrl-C stops the servers, whatever the tests do.
		"Quit":      {signal: syscall.SIGQUIT, code: 2},          // So ends go test what takes too long.
		"Kill":      {signal: syscall.SIGKILL, code: -1},         // On Linux the servers die with the run.
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "one")
			var out strings.Builder
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), asTests+"="+dir)
			cmd.Stderr = &out
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// It says that it runs, or ends.
			_, rerr := stdout.Read(make([]byte, 1))
			if err := cmd.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); rerr != nil || code != tc.code {
				t.Errorf("want exit code %d, got %d, %v, %s", tc.code, code, rerr, out.String())
			}
			awaitNoProcess(t, dir)
		})
	}
}

// awaitNoProcess is for servers that end by themselves, without anyone to wait for them.
func awaitNoProcess(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(killTimeout); time.Now().Before(end) && len(processes(t, dir)) > 0; {
		time.Sleep(pollInterval)
	}
	assertNoProcess(t, dir)
}
