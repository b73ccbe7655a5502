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
	cases := map[string]struct {
		reason string
		signal syscall.Signal
		code   int // -1 is killed by a signal
	}{
		"Interrupt": {
			reason: "Ctrl-C stops the servers, whatever the tests do.",
			signal: syscall.SIGINT,
			code:   interrupted,
		},
		"Terminate": {reason: "So does SIGTERM.", signal: syscall.SIGTERM, code: interrupted},
		"Quit": {
			reason: "go test sends SIGQUIT when a package takes too long; on Linux the servers die with the run.",
			signal: syscall.SIGQUIT,
			code:   2,
		},
		"Kill": {reason: "If that does not help it kills.", signal: syscall.SIGKILL, code: -1},
	}
	for name, tc := range cases {
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
				t.Errorf("%s\nwant exit code %d, got %d, %v, %s", tc.reason, tc.code, code, rerr, out.String())
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
