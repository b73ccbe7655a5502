package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestBinary(t *testing.T) {
	cases := map[string]struct {
		reason string
		goMod  string
		file   string // in .tools/bin, if any
		mode   os.FileMode
		want   string // in the error; empty for none
	}{
		"Found": {
			reason: "The folder is found from a folder below the module's.",
			goMod:  module,
			file:   "server",
			mode:   0o700,
			want:   "",
		},
		"NoFile": {
			reason: "The error says how to get the binary.",
			goMod:  module,
			file:   "other",
			mode:   0o700,
			want:   "cannot find server, run make tools",
		},
		"NoFolder": {
			reason: "So it does before anything was built.",
			goMod:  module,
			file:   "",
			mode:   0,
			want:   "cannot find the server binaries, run make tools",
		},
		"NotExecutable": {
			reason: "A half-written file is not run.",
			goMod:  module,
			file:   "server",
			mode:   0o600,
			want:   "run make tools",
		},
		"OtherModule": {
			reason: "The binaries of another module are not ours.",
			goMod:  module + "-fork",
			file:   "server",
			mode:   0o700,
			want:   "cannot find the folder with",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, "go.mod"), "// A comment.\n"+tc.goMod+"\n\ngo 1.26\n", 0o600)
			if tc.file != "" {
				write(t, filepath.Join(root, ".tools", "bin", tc.file), "", tc.mode)
			}
			below := filepath.Join(root, "some", "package")
			if err := os.MkdirAll(below, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Chdir(below)

			got, err := Binary("server")
			if tc.want == "" {
				if err != nil || !strings.HasSuffix(got, "/.tools/bin/server") {
					t.Errorf("%s\nBinary: got %q, %v", tc.reason, got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nBinary: want an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestData shows that data are found beside the program itself, and not beside the link to it.
func TestData(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), module, 0o600)
	program := filepath.Join(root, "cache", "server")
	write(t, program, "", 0o700)
	write(t, filepath.Join(root, "cache", "crds", "one.yaml"), "", 0o600)
	bin := filepath.Join(root, ".tools", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(bin, "server")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)

	dir, err := Data("server", "crds")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "one.yaml")); err != nil {
		t.Errorf("Data: %v", err)
	}
	for program, data := range map[string]string{"server": "charts", "other": "crds"} {
		if got, err := Data(program, data); err == nil {
			t.Errorf("Data of %s for %s: want an error, got %q", data, program, got)
		}
	}
	if got, err := Data("server", "server"); err == nil {
		t.Errorf("Data: want an error for a file, got %q", got)
	}
}

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
