package local

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// module is the first line of the go.mod beside which .tools/bin is found.
const module = "module github.com/crossplane-contrib/provider-kcp"

// BinDir returns the folder of the server binaries, <module root>/.tools/bin. The working directory must be inside the
// module.
func BinDir() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".tools", "bin")
	if _, err := os.Stat(dir); err != nil {
		return "", errors.Wrap(err, "cannot find the server binaries, run make tools")
	}
	return dir, nil
}

// Binary returns the path of one program in BinDir, such as kubectl. It is an error if there is none.
func Binary(name string) (string, error) {
	dir, err := BinDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if info, err := os.Stat(path); err != nil {
		return "", errors.Wrapf(err, "cannot find %s, run make tools, or make tools.e2e for OLM, KWOK and Crossplane",
			name)
	} else if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return "", errors.Errorf("%s is not a program, run make tools", path)
	}
	return path, nil
}

// Data returns the path of a folder of files that belong to a program, such as its CustomResourceDefinitions. It is an
// error if there is none.
func Data(program, name string) (string, error) {
	path, err := Binary(program)
	if err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", errors.Wrapf(err, "cannot find where %s lies", program)
	}
	path = filepath.Join(filepath.Dir(path), name)
	if info, err := os.Stat(path); err != nil {
		return "", errors.Wrapf(err, "cannot find data of %s", program)
	} else if !info.IsDir() {
		return "", errors.Errorf("%s is not a folder", path)
	}
	return path, nil
}

// moduleRoot looks for our go.mod from the working directory upwards: go test runs in the folder of the package, people
// run the command anywhere in the module.
func moduleRoot() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", errors.Wrap(err, "cannot get working directory")
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if isModule(filepath.Join(dir, "go.mod")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.Errorf("cannot find the folder with %q in its go.mod at or above %s", module, wd)
		}
	}
}

func isModule(path string) bool {
	f, err := os.Open(path) //nolint:gosec // Any go.mod above us.
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // Only read.
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.TrimSpace(s.Text()) == module {
			return true
		}
	}
	return false
}
