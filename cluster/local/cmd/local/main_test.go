package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// asCommand in the environment makes the test binary the command itself.
const asCommand = "LOCAL_TEST_AS_COMMAND"

const (
	startTimeout = 3 * time.Minute
	endTimeout   = time.Minute
)

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestUpDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	u := start(t, "up", "--dir", dir, "--clusters", "one,two", "--kcp")
	u.awaitReady(t, dir)

	for _, name := range []string{"one", "two", "kcp"} {
		path := filepath.Join(dir, name+".kubeconfig")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: want mode 0600, got %v, %v", path, info, err)
		}
		cfg, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	second := start(t, "up", "--dir", dir, "--clusters", "three")
	second.await(t)
	if code := second.cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(second.out.String(), "another up runs there") {
		t.Errorf("second up in the same folder: want exit code %d and a reason, got %d, %s", exitFailed, code, second.out)
	}

	d := start(t, "down", "--dir", dir)
	d.await(t)
	// Nothing is left already when down returns.
	assertNoProcess(t, dir)
	u.await(t)
	for _, c := range []*command{u, d} {
		if code := c.cmd.ProcessState.ExitCode(); code != exitOK || !strings.HasSuffix(c.out.String(), "stopped\n") {
			t.Errorf("%v: want exit code %d, got %d, %s", c.cmd.Args, exitOK, code, c.out)
		}
	}
	for _, line := range []string{"one: etcd ready after ", "two: kube-apiserver ready after ", "kcp: kcp ready after ", "all ready after "} {
		if got := strings.Count("\n"+u.out.String(), "\n"+line); got != 1 {
			t.Errorf("up: want one line with %q, got %d in\n%s", line, got, u.out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ready")); !os.IsNotExist(err) {
		t.Errorf("ready must be gone: %v", err)
	}
}

func TestSignals(t *testing.T) {
	cases := map[string]struct {
		reason string
		signal syscall.Signal
		when   func(*command, *testing.T, string)
		code   int // -1 is killed by a signal
	}{
		"InterruptWhenReady": {
			reason: "Ctrl-C stops the servers in order.",
			signal: syscall.SIGINT,
			when:   (*command).awaitReady,
			code:   exitOK,
		},
		"TerminateWhenReady": {
			reason: "So does SIGTERM.",
			signal: syscall.SIGTERM,
			when:   (*command).awaitReady,
			code:   exitOK,
		},
		"InterruptWhileStarting": {
			reason: "Ctrl-C does not wait for what is not ready yet.",
			signal: syscall.SIGINT,
			when:   (*command).awaitEtcd,
			code:   exitOK,
		},
		"Kill": {
			reason: "On Linux the servers die with the command.",
			signal: syscall.SIGKILL,
			when:   (*command).awaitReady,
			code:   -1,
		},
		"KillWhileStarting": {
			reason: "Also before they are ready.",
			signal: syscall.SIGKILL,
			when:   (*command).awaitEtcd,
			code:   -1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			u := start(t, "up", "--dir", dir, "--clusters", "one", "--controller-manager", "--kcp="+strconv.FormatBool(name == "KillWhileStarting"))
			tc.when(u, t, dir)
			// As a terminal does, to the whole process group.
			if err := syscall.Kill(-u.cmd.Process.Pid, tc.signal); err != nil {
				t.Fatal(err)
			}
			u.await(t)
			if code := u.cmd.ProcessState.ExitCode(); code != tc.code {
				t.Errorf("%s\nwant exit code %d, got %d, %s", tc.reason, tc.code, code, u.out)
			}
			if tc.signal == syscall.SIGKILL {
				awaitNoProcess(t, dir)
			}
			assertNoProcess(t, dir)
		})
	}
}

func TestUpFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bad", "audit.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	u := start(t, "up", "--dir", dir, "--clusters", "good,bad", "--audit")
	u.await(t)
	if code := u.cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(u.out.String(), `cannot start cluster "bad"`) {
		t.Errorf("want exit code %d and a reason, got %d, %s", exitFailed, code, u.out)
	}
	assertNoProcess(t, dir)
}

func TestDownLeavesStrangersAlone(t *testing.T) {
	dir := t.TempDir()
	stranger := exec.Command("sleep", "600")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = stranger.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = stranger.Process.Kill()
		<-ended
	})
	// As a killed up leaves it, after which another process got its id.
	if err := os.WriteFile(lockFile(dir), []byte(strconv.Itoa(stranger.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, "down", "--dir", dir)
	d.await(t)
	if code := d.cmd.ProcessState.ExitCode(); code != exitOK || !strings.Contains(d.out.String(), "nothing runs in ") {
		t.Errorf("want exit code %d and that nothing runs, got %d, %s", exitOK, code, d.out)
	}
	select {
	case <-ended:
		t.Error("down ended a process that was not up")
	default:
	}
}

func TestParseUp(t *testing.T) {
	type want struct {
		o   upOptions
		err bool
	}
	cases := map[string]struct {
		reason string
		args   string
		want   want
	}{
		"Defaults":         {"Two clusters and nothing else.", "--dir d", want{o: upOptions{dir: "d", clusters: []string{"control", "remote"}}}},
		"All":              {"Every flag is used.", "--dir d --clusters a,b-2 --kcp --controller-manager --audit", want{o: upOptions{"d", []string{"a", "b-2"}, true, true, true}}},
		"OnlyKCP":          {"Clusters may be none.", "--dir d --clusters= --kcp", want{o: upOptions{dir: "d", kcp: true}}},
		"Nothing":          {"Something must be started.", "--dir d --clusters=", want{err: true}},
		"NoDir":            {"The folder has no default.", "--kcp", want{err: true}},
		"NameTwice":        {"Names are folders.", "--dir d --clusters a,a", want{err: true}},
		"NameOfKCP":        {"The folder kcp is for kcp.", "--dir d --clusters kcp", want{err: true}},
		"NameWithPath":     {"Folders are below the given one.", "--dir d --clusters ../a", want{err: true}},
		"UnknownFlag":      {"A mistyped flag is not ignored.", "--dir d --kpc", want{err: true}},
		"StrayArgument":    {"Nor is anything else.", "--dir d kcp", want{err: true}},
		"NameEndsInHyphen": {"Names are as in DNS.", "--dir d --clusters a-", want{err: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseUp(strings.Fields(tc.args))
			if (err != nil) != tc.want.err {
				t.Fatalf("%s\nparseUp: want error %t, got %v", tc.reason, tc.want.err, err)
			}
			if diff := cmp.Diff(tc.want.o, got, cmp.AllowUnexported(upOptions{})); err == nil && diff != "" {
				t.Errorf("%s\nparseUp: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		want   int
	}{
		"Nothing": {"Without a command there is nothing to do.", nil, exitUsage},
		"Unknown": {"There are two commands.", []string{"sideways"}, exitUsage},
		"BadFlag": {"Flags are checked.", []string{"down", "--dri", "x"}, exitUsage},
		"Help":    {"To ask is no mistake.", []string{"up", "--help"}, exitOK},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if got := run(tc.args, &out, &out); got != tc.want || !strings.Contains(out.String(), usage) {
				t.Errorf("%s\nrun: want %d and the usage, got %d, %s", tc.reason, tc.want, got, &out)
			}
		})
	}
}
