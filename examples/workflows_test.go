package examples

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pinned matches an action that is named by its commit, with its version in a comment.
var pinned = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)

// TestActionsArePinned shows that workflows name each action by its commit. A tag can be moved to other code, and one
// workflow signs releases.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no workflows: %v", err)
	}
	for _, f := range files {
		for line := range strings.Lines(read(t, f)) {
			if _, action, uses := strings.Cut(line, "uses: "); uses && !pinned.MatchString(strings.TrimSpace(action)) {
				t.Errorf("%s: want an action by its commit, with the version as a comment, got %s", f, action)
			}
		}
	}
}

var (
	// made is a command of guides and workflows that makes targets.
	made = regexp.MustCompile("(?m)(?:`|run: |^ *)make((?: [a-z][a-z0-9.]*)+)")
	// target begins a rule of the Makefile.
	target = regexp.MustCompile(`(?m)^([a-z0-9.]+):`)
)

// TestTargets shows that each target that a guide or a workflow makes is in the Makefile.
func TestTargets(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(read(t, "../Makefile"), -1) {
		targets[m[1]] = true
	}
	files := slices.Concat(find(t, "../docs", ".md"), find(t, "../.github", ".yml"),
		[]string{"../README.md", "../CONTRIBUTING.md"})
	found := 0
	for _, f := range files {
		for _, m := range made.FindAllStringSubmatch(read(t, f), -1) {
			for name := range strings.FieldsSeq(m[1]) {
				found++
				if !targets[name] {
					t.Errorf("%s: the Makefile has no target %s", f, name)
				}
			}
		}
	}
	if found == 0 {
		t.Error("there are no commands")
	}
}
