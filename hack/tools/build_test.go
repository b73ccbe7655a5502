package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPresent shows which programs are taken that are there already, in place of building them. Nothing can be built
// here: there is no proxy for modules, and no cache of them.
func TestPresent(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		version string
		args    []string
		taken   bool
	}{
		"Pinned":  {reason: "A program of the pinned version is taken.", version: "3.6.8", taken: true},
		"Another": {reason: "One of another version is not.", version: "3.6.80"},
		"Source":  {reason: "None is, if all is to be built.", version: "3.6.8", args: []string{"--source"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tools, assets := filepath.Join(dir, "hack", "tools"), filepath.Join(dir, "assets")
			copyFiles(t, tools, "build.sh")
			copyFiles(t, filepath.Join(tools, "etcd"), "etcd/go.mod", "etcd/go.sum", "etcd/tool.env")
			program := filepath.Join(assets, "etcd")
			for _, path := range []string{program, program + "utl"} {
				write(t, path, "#!/bin/sh\necho 'etcd Version: "+tc.version+"'\n")
			}

			cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "build.sh"), append(tc.args, "etcd")...)
			cmd.Env = append(os.Environ(), "PATH="+withoutEtcd(), "KUBEBUILDER_ASSETS="+assets,
				"PROVIDER_KCP_CACHE="+filepath.Join(dir, "cache"),
				"GOPROXY=off", "GOMODCACHE="+filepath.Join(dir, "modules"))
			out, err := cmd.CombinedOutput()
			if taken := err == nil; taken != tc.taken {
				t.Fatalf("%s\nwant it taken: %t, got %v:\n%s", tc.reason, tc.taken, err, out)
			}
			if !tc.taken {
				if !strings.Contains(string(out), "cannot build etcd") {
					t.Errorf("%s\nwant a try to build it, got:\n%s", tc.reason, out)
				}
				return
			}
			got, err := filepath.EvalSymlinks(filepath.Join(dir, ".tools", "bin", "etcd"))
			if err != nil || got != program {
				t.Errorf("%s\nwant %s, got %s, %v", tc.reason, program, got, err)
			}
		})
	}
}

// withoutEtcd returns PATH without folders that have an etcd: make puts those of the project there.
func withoutEtcd() string {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "etcd"))
		return err == nil
	})
	return strings.Join(dirs, string(filepath.ListSeparator))
}

func copyFiles(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, filepath.Base(f)), string(content))
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}
