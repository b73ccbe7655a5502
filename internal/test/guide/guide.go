// Package guide reads the commands of our guides, so that tests run them as they are written. It is for _test.go files
// only.
package guide

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// block is a block of commands, or of manifests, in Markdown.
var block = regexp.MustCompile("(?ms)^```(sh|yaml)\n(.*?)^```$")

// Commands returns the blocks of commands of a guide under a heading such as "## Install", up to the next one. It fails
// the test if there are none.
func Commands(tb testing.TB, path, heading string) []string {
	tb.Helper()
	return blocks(tb, path, heading, func(language, text string) string {
		if language == "yaml" {
			return ""
		}
		return text
	})
}

// Path is Commands with the manifests, each as a command that applies it.
func Path(tb testing.TB, path, heading string) []string {
	tb.Helper()
	return blocks(tb, path, heading, func(language, text string) string {
		if language == "yaml" {
			return "kubectl apply -f - <<'END'\n" + text + "END\n"
		}
		return text
	})
}

// blocks returns what a function makes of the blocks under a heading. It leaves out those it makes nothing of.
func blocks(tb testing.TB, path, heading string, commands func(language, text string) string) (all []string) {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	_, section, found := strings.Cut("\n"+string(text), "\n"+heading+"\n")
	if !found {
		tb.Fatalf("%s has no heading %q", path, heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	for _, m := range block.FindAllStringSubmatch(section, -1) {
		if c := commands(m[1], m[2]); c != "" {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		tb.Fatalf("%s has no commands under %q", path, heading)
	}
	return all
}

// A Shell runs commands as a user would who follows a guide.
type Shell struct {
	Dir string   // the working directory, with the files that the guide needs
	Env []string // all environment variables
}

// NewShell returns a Shell in a new folder that has links to some files or folders. Its commands find our tools, crank
// as crossplane, too, and kubectl finds the cluster of a configuration.
func NewShell(tb testing.TB, cfg *rest.Config, links ...string) Shell {
	tb.Helper()
	tools, err := local.BinDir()
	if err != nil {
		tb.Fatal(err)
	}
	s, own := Shell{Dir: tb.TempDir()}, tb.TempDir()
	link(tb, filepath.Join(tools, "crank"), filepath.Join(own, "crossplane"))
	for _, l := range links {
		link(tb, l, filepath.Join(s.Dir, filepath.Base(l)))
	}
	kubeconfig := filepath.Join(own, "kubeconfig")
	if err := os.WriteFile(kubeconfig, kube.Kubeconfig(tb, cfg), 0o600); err != nil {
		tb.Fatal(err)
	}
	path := strings.Join([]string{own, tools, os.Getenv("PATH")}, string(os.PathListSeparator))
	s.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+path)
	return s
}

// link makes a link to a file or folder.
func link(tb testing.TB, to, from string) {
	tb.Helper()
	path, err := filepath.Abs(to)
	if err == nil {
		err = os.Symlink(path, from)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Run runs commands, and fails the test if one of them fails.
func (s *Shell) Run(tb testing.TB, commands string) (out string) {
	tb.Helper()
	began := time.Now()
	out, err := s.Try(commands)
	if err != nil {
		tb.Fatalf("%v:\n%s\n%s", err, commands, out)
	}
	tb.Logf("%s in %s", commands, time.Since(began))
	return out
}

// RunAll runs blocks of commands one after the other, and returns what they print.
func (s *Shell) RunAll(tb testing.TB, blocks []string) string {
	tb.Helper()
	var out strings.Builder
	for _, commands := range blocks {
		out.WriteString(s.Run(tb, commands))
	}
	return out.String()
}

// Write writes a file, which may be run. A relative path is relative to the working directory.
func (s *Shell) Write(tb testing.TB, path string, content []byte) {
	tb.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	if err := os.WriteFile(path, content, 0o700); err != nil {
		tb.Fatal(err)
	}
}

// Try runs commands, and returns what they print.
func (s *Shell) Try(commands string) (out string, err error) {
	c := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	c.Dir, c.Env = s.Dir, s.Env
	b, err := c.CombinedOutput()
	return string(b), err
}
