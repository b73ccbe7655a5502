// Command crds completes the CustomResourceDefinitions that controller-gen writes, where their types come from
// Crossplane: it replaces texts that are wrong here, and has the control plane refuse values that could only fail
// later. It takes the folder they are in. With -reference it changes none of them, and writes the reference of their
// fields into another folder.
//
// To repeat Crossplane's types with other comments was rejected: generators and accessors know Crossplane's.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"
	"sigs.k8s.io/yaml"
)

func main() {
	reference := flag.String("reference", "", "the folder of the reference")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: crds [-reference FOLDER] FOLDER")
		os.Exit(2)
	}
	run := completeAll
	if *reference != "" {
		run = func(definitions string) error { return writeReference(*reference, definitions, pages()) }
	}
	if err := run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

// completeAll completes the definitions in a folder. Each text to replace must be in one of them.
func completeAll(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return errors.Wrap(err, "cannot list the definitions")
	}
	used := map[string]bool{}
	for _, f := range files {
		if err := completeFile(f, used); err != nil {
			return errors.Wrap(err, f)
		}
	}
	for _, t := range texts() {
		if !used[t.begins] {
			return errors.Errorf("no field has the text %q any more", t.begins)
		}
	}
	return nil
}

func completeFile(file string, used map[string]bool) error {
	before, err := os.ReadFile(file) //nolint:gosec // The build of the package names the folder.
	if err != nil {
		return errors.Wrap(err, "cannot read")
	}
	crd := map[string]any{}
	if err := yaml.Unmarshal(before, &crd); err != nil {
		return errors.Wrap(err, "cannot decode")
	}
	complete("", crd, used)
	if slices.Contains(otherConfigs, filepath.Base(file)) {
		drop(crd)
	}
	after, err := yaml.Marshal(crd)
	if err != nil {
		return errors.Wrap(err, "cannot encode")
	}
	after = append([]byte("---\n"), after...)
	if bytes.Equal(before, after) {
		return nil
	}
	return errors.Wrap(os.WriteFile(file, after, 0o600), "cannot write")
}

// complete completes the schema of a field, and those in it.
func complete(field string, schema any, used map[string]bool) {
	switch s := schema.(type) {
	case map[string]any:
		replaceText(s, used)
		restrict(field, s)
		describeIdentity(field, s)
		for k, v := range s {
			if k != "status" { // What we write there is ours to check.
				complete(k, v, used)
			}
		}
	case []any:
		for _, v := range s {
			complete("", v, used)
		}
	}
}
