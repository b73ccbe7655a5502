package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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

func TestParseUp(t *testing.T) {
	for args, want := range map[string]upOptions{
		"--dir d": {dir: "d", clusters: []string{"control", "remote"}},
		"--dir d --clusters a,b-2 --kcp --controller-manager --audit": {
			dir: "d", clusters: []string{"a", "b-2"}, kcp: true, controllerManager: true, audit: true,
		},
		"--dir d --clusters= --kcp": {dir: "d", kcp: true},
	} {
		got, err := parseUp(strings.Fields(args))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(upOptions{})); err != nil || diff != "" {
			t.Errorf("%s: %v, -want, +got:\n%s", args, err, diff)
		}
	}
}

// TestUsage shows that what is no command gets an error and the usage. To ask for it is no mistake.
func TestUsage(t *testing.T) {
	for args, want := range map[string]int{
		"": exitUsage, "sideways": exitUsage, "down --dri x": exitUsage, "up --kcp": exitUsage, "up --help": exitOK,
		"up --dir d --clusters=": exitUsage, "up --dir d --clusters a,a": exitUsage, "up --dir d kcp": exitUsage,
		// Names are folders below that of the command, which has one for kcp, too.
		"up --dir d --clusters kcp": exitUsage, "up --dir d --clusters ../a": exitUsage,
		"up --dir d --clusters a-": exitUsage,
	} {
		var out bytes.Buffer
		if got := run(strings.Fields(args), &out, &out); got != want || !strings.Contains(out.String(), usage) {
			t.Errorf("%q: want %d and the usage, got %d, %s", args, want, got, &out)
		}
	}
}
