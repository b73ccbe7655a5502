package main

import (
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
)

// TestCommands shows that a plain start needs no command, and that flags of the provider go before and after one.
func TestCommands(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		args    []string
		command string
		want    preflightFlags
		debug   bool
		fails   bool
	}{
		"Nothing": {reason: "The provider runs.", command: commandRun},
		"Flags": {
			reason: "The provider runs with flags.", args: []string{"--debug", "--no-enable-server-side-apply"},
			command: commandRun, debug: true,
		},
		"Preflight": {
			reason: "What is looked at is an argument.", args: []string{"preflight", "provider-kubernetes"},
			command: commandPreflight, want: preflightFlags{from: "provider-kubernetes", output: outputTable},
		},
		"PreflightWithFlags": {
			reason:  "Flags of the provider say how it will run.",
			args:    []string{"--debug", "preflight", "api-syncagent", "-o", "json", "--state-namespace=x"},
			command: commandPreflight, want: preflightFlags{from: "api-syncagent", output: outputJSON}, debug: true,
		},
		"NothingToTakeOver": {reason: "A former provider must be named.", args: []string{"preflight"}, fails: true},
		"UnknownProvider":   {reason: "It must be one of two.", args: []string{"preflight", "provider-helm"}, fails: true},
		"UnknownArgument":   {reason: "The plain start has no arguments.", args: []string{"start"}, fails: true},
		"OutputOfRun":       {reason: "A plain start has no report.", args: []string{"-o", "json"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			app := kingpin.New("provider", "")
			f := newFlags(app)
			p := newCommands(app)
			command, err := app.Parse(tc.args)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nerror: %v", tc.reason, err)
			}
			if err != nil {
				return
			}
			if command != tc.command || f.debug != tc.debug {
				t.Errorf("%s\ncommand and debug: want %s %t, got %s %t", tc.reason, tc.command, tc.debug, command, f.debug)
			}
			if diff := cmp.Diff(&tc.want, p, cmp.AllowUnexported(preflightFlags{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
