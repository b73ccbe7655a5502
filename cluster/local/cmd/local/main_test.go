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
	for _, line := range []string{"one: etcd ready after ", "two: kube-apiserver ready after ", "kcp: kcp ready after ", "all ready after "} {
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
		"InterruptWhenReady": {"Ctrl-C stops the servers in order.", syscall.SIGINT, (*command).awaitReady, nil, exitOK},
		"TerminateWhenReady": {"So does SIGTERM.", syscall.SIGTERM, (*command).awaitReady, nil, exitOK},
		"InterruptEarly":     {"Ctrl-C does not wait for what is not ready yet.", syscall.SIGINT, (*command).awaitEtcd, []string{"--kcp"}, exitOK},
		"KillWhenReady":      {"On Linux the servers die with the command.", syscall.SIGKILL, (*command).awaitReady, nil, killed},
		"KillEarly":          {"Also before they are ready.", syscall.SIGKILL, (*command).awaitEtcd, []string{"--kcp"}, killed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			u := start(t, append([]string{"up", "--dir", dir, "--clusters", "one", "--controller-manager"}, tc.args...)...)
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
			"Two clusters and nothing else.", "--dir d",
			want{o: upOptions{dir: "d", clusters: []string{"control", "remote"}}},
		},
		"All": {
			"Every flag is used.", "--dir d --clusters a,b-2 --kcp --controller-manager --audit",
			want{o: upOptions{dir: "d", clusters: []string{"a", "b-2"}, kcp: true, controllerManager: true, audit: true}},
		},
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
