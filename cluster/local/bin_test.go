package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBinary shows that a program is of the other version that is asked for, if that has one, and never of ours if
// nothing of that version is there.
func TestBinary(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "go.mod"), module, 0o600)
	for _, path := range []string{"bin/etcd", "bin/kcp", "kcp-0.31/kcp"} {
		write(t, filepath.Join(root, ".tools", path), "", 0o700)
	}
	t.Chdir(root)
	for name, tc := range map[string]struct{ version, program, want string }{
		"Ours":         {program: "kcp", want: "bin/kcp"},
		"Other":        {version: "kcp-0.31", program: "kcp", want: "kcp-0.31/kcp"},
		"OursBeside":   {version: "kcp-0.31", program: "etcd", want: "bin/etcd"},
		"OtherMissing": {version: "kcp-0.30", program: "etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(otherVersion, tc.version)
			got, err := Binary(tc.program)
			if tc.want == "" {
				if err == nil || !strings.Contains(err.Error(), "run make tools.e2e") {
					t.Errorf("want an error that says how to get binaries, got %q, %v", got, err)
				}
				return
			}
			if diff := cmp.Diff(filepath.Join(root, ".tools", tc.want), got); diff != "" || err != nil {
				t.Errorf("Binary: -want, +got, error %v:\n%s", err, diff)
			}
		})
	}
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}
