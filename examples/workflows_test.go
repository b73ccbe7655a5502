package examples

import (
	"path/filepath"
	"regexp"
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
