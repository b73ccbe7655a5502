package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

var update = flag.Bool("update", false, "write the tables of flags into the page of the command line")

// TestFlagPage shows that the page of the command line has all flags of the provider and of its commands, with their
// variables, defaults and help texts.
func TestFlagPage(t *testing.T) {
	const command = "go test ./cmd/provider -run TestFlagPage -update"
	page := filepath.Join("..", "..", "docs", "reference", "command-line.md")
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	app := kingpin.New("provider", "")
	f := newFlags(app)
	newArguments(app)
	text := string(content)
	for name, want := range map[string]string{
		"flags": flagTable(app.Model(), f), "commands": commandTable(app.Model()),
	} {
		first, last := "<!-- "+name+": written by "+command+" -->\n", "<!-- end of "+name+" -->"
		before, rest, begins := strings.Cut(text, first)
		got, after, ends := strings.Cut(rest, last)
		if !begins || !ends {
			t.Fatalf("%s lacks the comments around its table of %s: %s", page, name, first)
		}
		if got != want && !*update {
			t.Errorf("%s: table of %s: want\n%s\ngot\n%s\nrun: %s", page, name, want, got, command)
		}
		text = before + first + want + last + after
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// flagTable returns the table of the flags of the provider, and a line of those of provider-kubernetes without effect.
// Those of api-syncagent have a page of their own.
func flagTable(app *kingpin.ApplicationModel, f *flags) string {
	var b strings.Builder
	b.WriteString("|flag|variable|default|meaning|\n|---|---|---|---|\n")
	var ignored []string
	for _, flag := range sorted(app.Flags) {
		_, isIgnored := f.ignored[flag.Name]
		switch {
		case flag.Hidden || flag.Name == "help":
		case !isIgnored:
			fmt.Fprintf(&b, "|%s|%s|%s|%s|\n", flagName(flag), code(flag.Envar), defaultOf(flag), flag.Help)
		case flag.Envar != "":
			ignored = append(ignored, "`--"+flag.Name+"`")
		}
	}
	return b.String() + "\nThese flags of provider-kubernetes have no effect: " + strings.Join(ignored, ", ") + ".\n"
}

// commandTable returns the table of the flags and arguments of commands.
func commandTable(app *kingpin.ApplicationModel) string {
	var b strings.Builder
	b.WriteString("|command|flag or argument|default|meaning|\n|---|---|---|---|\n")
	for _, c := range app.Commands {
		if c.Hidden || c.Name == "help" {
			continue
		}
		for _, arg := range c.Args {
			fmt.Fprintf(&b, "|`%s`|`%s`||%s|\n", c.Name, strings.ToUpper(arg.Name), arg.Help)
		}
		for _, flag := range sorted(c.Flags) {
			if flag.Name == "output" {
				continue // All commands have it.
			}
			fmt.Fprintf(&b, "|`%s`|%s|%s|%s|\n", c.Name, flagName(flag), defaultOf(flag), flag.Help)
		}
	}
	return b.String()
}

func sorted(flags []*kingpin.FlagModel) []*kingpin.FlagModel {
	return slices.SortedFunc(slices.Values(flags), func(a, b *kingpin.FlagModel) int {
		return strings.Compare(a.Name, b.Name)
	})
}

func flagName(of *kingpin.FlagModel) string {
	name := "`--" + of.Name + "`"
	if of.Short != 0 {
		name += ", `-" + string(of.Short) + "`"
	}
	return name
}

func defaultOf(of *kingpin.FlagModel) string {
	if of.IsBoolFlag() && len(of.Default) == 0 && of.Name != "version" {
		return code("false")
	}
	return code(strings.Join(of.Default, ","))
}

// code returns text as code, and nothing if there is none.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
