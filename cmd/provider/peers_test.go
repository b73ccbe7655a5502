package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// A peer is a program that this one takes over from, with all its released versions.
type peer struct {
	Program  string     `json:"program"`
	Source   string     `json:"source"` // where its flags are declared
	Prefix   string     `json:"prefix"` // of variables without a name of their own; without it, flags have no variables
	Versions []string   `json:"versions"`
	Flags    []peerFlag `json:"flags"`
}

type peerFlag struct {
	Name     string `json:"name"`
	Short    string `json:"short"`
	Takes    string `json:"takes"`   // a value, or "switch" for none
	Empty    bool   `json:"empty"`   // whether an empty value has a meaning
	Repeats  bool   `json:"repeats"` // whether it may be given several times
	Variable string `json:"variable"`
	Since    string `json:"since"`
	Until    string `json:"until"` // the last version that has it; empty if the last of all
}

// forms returns all ways to give a flag on a command line.
func (f peerFlag) forms(p peer) [][]string {
	long := "--" + f.Name
	if f.Takes != "switch" {
		out := [][]string{{long + "=" + f.Takes}, {long, f.Takes}}
		if f.Empty {
			out = append(out, []string{long + "="}, []string{long, ""})
		}
		if f.Repeats {
			out = append(out, []string{long + "=" + f.Takes, long + "=b"})
		}
		if f.Short != "" {
			out = append(out, []string{"-" + f.Short + f.Takes}, []string{"-" + f.Short, f.Takes})
		}
		return out
	}
	out := [][]string{{long}}
	if p.Prefix == "" { // The agent parses flags by pflag, which knows no --no-.
		return append(out, []string{long + "=true"}, []string{long + "=false"}, []string{long + "=1"})
	}
	if f.Short != "" {
		out = append(out, []string{"-" + f.Short})
	}
	return append(out, []string{"--no-" + f.Name})
}

// variable returns the environment variable of a flag, and two values of it.
func (f peerFlag) variable(p peer) (name string, values []string) {
	switch {
	case p.Prefix == "":
		return "", nil
	case f.Takes != "switch":
		values = []string{f.Takes}
	default:
		values = []string{"true", "false"}
	}
	if f.Variable != "" {
		return f.Variable, values
	}
	return p.Prefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")), values
}

// TestFlagsOfPeers shows that each flag of each released version of provider-kubernetes and api-syncagent is accepted
// in each way in which it can be given there, by itself and beside all others, and by its variable. Each changes a
// setting, or is warned about.
func TestFlagsOfPeers(t *testing.T) {
	for _, p := range readPeers(t) {
		for i, version := range p.Versions {
			t.Run(p.Program+"/"+version, func(t *testing.T) {
				var all []string
				for _, f := range p.Flags {
					if i < slices.Index(p.Versions, f.Since) ||
						f.Until != "" && i > slices.Index(p.Versions, f.Until) {
						continue
					}
					all = append(all, f.forms(p)[0]...)
					checkForms(t, p, f)
					checkVariable(t, p, f)
				}
				if len(all) == 0 {
					t.Error("no flags")
				}
				if _, err := tryParse(all...); err != nil {
					t.Errorf("%q: %v", all, err)
				}
			})
		}
	}
}

func checkForms(t *testing.T, p peer, f peerFlag) {
	t.Helper()
	works := false
	for _, args := range f.forms(p) {
		got, err := tryParse(args...)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		works = works || effect(got) != ""
	}
	if !works {
		t.Errorf("--%s changes no setting, and is not warned about", f.Name)
	}
}

// checkVariable checks that a variable does what the flag does.
func checkVariable(t *testing.T, p peer, f peerFlag) {
	t.Helper()
	name, values := f.variable(p)
	for _, value := range values {
		args := []string{"--" + f.Name + "=" + value}
		want, err := tryParse(args...)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		t.Setenv(name, value)
		got, err := tryParse()
		if err != nil {
			t.Errorf("%s=%s: %v", name, value, err)
		}
		if diff := cmp.Diff(want, got, compareFlags...); diff != "" {
			t.Errorf("%s=%s: -flag, +variable:\n%s", name, value, diff)
		}
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

// effect returns how settings differ from the defaults, and which flags are warned about.
func effect(f *flags) string {
	ignored := slices.DeleteFunc(slices.Sorted(maps.Keys(f.ignored)), func(name string) bool { return !*f.ignored[name] })
	return cmp.Diff(defaults(), *f, compareFlags...) + strings.Join(ignored, " ")
}

func tryParse(args ...string) (*flags, error) {
	app := kingpin.New("provider", "")
	f := newFlags(app)
	newArguments(app)
	_, err := app.Parse(switches(app, args))
	return f, err
}

func readPeers(t *testing.T) (peers []peer) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "peers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, &peers); err != nil {
		t.Fatal(err)
	}
	return peers
}
