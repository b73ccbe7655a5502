package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestStartWithoutBinary(t *testing.T) {
	nowhere := &rest.Config{Host: "https://127.0.0.1:1"}
	for name, binaries := range map[string][]string{"None": nil, "OnlyEtcd": {"etcd"}} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, "go.mod"), module, 0o600)
			for _, b := range binaries {
				write(t, filepath.Join(root, ".tools", "bin", b), "", 0o700)
			}
			t.Chdir(root)
			for what, err := range map[string]error{
				"StartCluster": second(StartCluster(t.Context(), ClusterOptions{Dir: filepath.Join(root, "cluster")})),
				"StartKCP":     second(StartKCP(t.Context(), KCPOptions{Dir: filepath.Join(root, "kcp")})),
				"StartNodes": second(StartNodes(t.Context(),
					NodesOptions{Dir: filepath.Join(root, "nodes"), Config: nowhere})),
				"StartOLM": second(StartOLM(t.Context(),
					OLMOptions{Dir: filepath.Join(root, "olm"), Config: nowhere, Catalog: root})),
			} {
				if err == nil || !strings.Contains(err.Error(), "run make tools") {
					t.Errorf("%s: want an error that says how to get binaries, got %v", what, err)
				}
			}
		})
	}
}

// second returns the error of a start.
func second[T any](_ T, err error) error { return err }

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}
