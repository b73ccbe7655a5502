// Package guide reads the commands of our guides, so that tests run them as they are written. It is for _test.go files
// only.
package guide

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// shell is a block of commands in Markdown.
var shell = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// Commands returns the blocks of commands of a guide under a heading such as "## Install", up to the next one. It fails
// the test if there are none.
func Commands(tb testing.TB, path, heading string) []string {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		tb.Fatalf("%s has no heading %q", path, heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	var blocks []string
	for _, m := range shell.FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		tb.Fatalf("%s has no commands under %q", path, heading)
	}
	return blocks
}
