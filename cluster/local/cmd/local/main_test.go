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
		assertKubeconfig(t, filepath.Join(dir, name+".kubeconfig"))
	}
	second := start(t, "up", "--dir", dir, "--clusters", "three")
	second.awaitEnd(t, exitFailed, "another up runs there")

	start(t, "down", "--dir", dir).awaitEnd(t, exitOK, "stopped\n")
	// Nothing is left already when down returns.
	assertNoProcess(t, dir)
	u.awaitEnd(t, exitOK, "stopped\n")
	for _, line := range []string{
		"one: etcd ready after ", "two: kube-apiserver ready after ", "kcp: kcp ready after ", "all ready after ",
	} {
		if got := strings.Count("\n"+u.out.String(), "\n"+line); got != 1 {
			t.Errorf("up: want one line with %q, got %d in\n%s", line, got, u.out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ready")); !os.IsNotExist(err) {
		t.Errorf("ready must be gone: %v", err)
	}
}

func assertKubeconfig(t *testing.T, path string) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: want mode 0600, got %v, %v", path, info, err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = kubernetes.NewForConfigOrDie(cfg).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

func TestSignals(t *testing.T) {
	const killed = -1
	type when func(*command, *testing.T, string)
	cases := map[string]struct {
		reason string
		signal syscall.Signal
		when   when
		args   []string
		code   int
	}{
		"InterruptWhenReady": {
			reason: "Ctrl-C stops the servers in order.",
			signal: syscall.SIGINT,
			when:   (*command).awaitReady,
			args:   nil,
			code:   exitOK,
		},
		"TerminateWhenReady": {
			reason: "So does SIGTERM.",
			signal: syscall.SIGTERM,
			when:   (*command).awaitReady,
			args:   nil,
			code:   exitOK,
		},
		"InterruptEarly": {
			reason: "Ctrl-C does not wait for what is not ready yet.",
			signal: syscall.SIGINT,
			when:   (*command).awaitEtcd,
			args:   []string{"--kcp"},
			code:   exitOK,
		},
		"KillWhenReady": {
			reason: "On Linux the servers die with the command.",
			signal: syscall.SIGKILL,
			when:   (*command).awaitReady,
			args:   nil,
			code:   killed,
		},
		"KillEarly": {
			reason: "Also before they are ready.",
			signal: syscall.SIGKILL,
			when:   (*command).awaitEtcd,
			args:   []string{"--kcp"},
			code:   killed,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			u := start(t, append([]string{"up", "--dir", dir, "--clusters", "one", "--controller-manager"},
				tc.args...)...)
			tc.when(u, t, dir)
			t.Log(tc.reason)
			// As a terminal does, to the whole process group.
			if err := syscall.Kill(-u.cmd.Process.Pid, tc.signal); err != nil {
				t.Fatal(err)
			}
			u.awaitEnd(t, tc.code, "")
			if tc.code == killed {
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
	u.awaitEnd(t, exitFailed, `cannot start cluster "bad"`)
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
	start(t, "down", "--dir", dir).awaitEnd(t, exitOK, "nothing runs in ")
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
		"Defaults": {
			reason: "Two clusters and nothing else.", args: "--dir d",
			want: want{o: upOptions{dir: "d", clusters: []string{"control", "remote"}}},
		},
		"All": {
			reason: "Every flag is used.", args: "--dir d --clusters a,b-2 --kcp --controller-manager --audit",
			want: want{o: upOptions{
				dir: "d", clusters: []string{"a", "b-2"}, kcp: true, controllerManager: true, audit: true,
			}},
		},
		"OnlyKCP": {
			reason: "Clusters may be none.",
			args:   "--dir d --clusters= --kcp",
			want:   want{o: upOptions{dir: "d", kcp: true}},
		},
		"Nothing":   {reason: "Something must be started.", args: "--dir d --clusters=", want: want{err: true}},
		"NoDir":     {reason: "The folder has no default.", args: "--kcp", want: want{err: true}},
		"NameTwice": {reason: "Names are folders.", args: "--dir d --clusters a,a", want: want{err: true}},
		"NameOfKCP": {
			reason: "The folder kcp is for kcp.",
			args:   "--dir d --clusters kcp",
			want:   want{err: true},
		},
		"NameWithPath": {
			reason: "Folders are below the given one.",
			args:   "--dir d --clusters ../a",
			want:   want{err: true},
		},
		"UnknownFlag":      {reason: "A mistyped flag is not ignored.", args: "--dir d --kpc", want: want{err: true}},
		"StrayArgument":    {reason: "Nor is anything else.", args: "--dir d kcp", want: want{err: true}},
		"NameEndsInHyphen": {reason: "Names are as in DNS.", args: "--dir d --clusters a-", want: want{err: true}},
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
		"Nothing": {reason: "Without a command there is nothing to do.", args: nil, want: exitUsage},
		"Unknown": {reason: "There are two commands.", args: []string{"sideways"}, want: exitUsage},
		"BadFlag": {reason: "Flags are checked.", args: []string{"down", "--dri", "x"}, want: exitUsage},
		"Help":    {reason: "To ask is no mistake.", args: []string{"up", "--help"}, want: exitOK},
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
