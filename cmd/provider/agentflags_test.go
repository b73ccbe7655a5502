package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
)

// TestAgentFlags shows that flags of api-syncagent that have another name here mean the same.
func TestAgentFlags(t *testing.T) {
	for arg, set := range map[string]func(*flags){
		"--log-format=Console":             func(f *flags) { f.logFormat = "Console" },
		"--log-format=JSON":                func(f *flags) { f.logFormat = "JSON" },
		"--log-debug":                      func(f *flags) { f.debug = true },
		"--namespace=kcp-system":           func(f *flags) { f.published.stateNamespace = "kcp-system" },
		"--enable-leader-election":         func(f *flags) { f.election.enabled = true },
		"--metrics-address=127.0.0.1:8085": func(f *flags) { f.metricsAddress = "127.0.0.1:8085" },
		"--health-address=:1":              func(f *flags) { f.healthAddress = ":1" },
	} {
		want := defaults()
		set(&want)
		if diff := cmp.Diff(want, parse(t, arg), compareFlags...); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", arg, diff)
		}
	}
}

// TestBadLogFormat shows that an unknown format of the log is refused.
func TestBadLogFormat(t *testing.T) {
	app := kingpin.New("provider", "")
	newFlags(app)
	if _, err := app.Parse([]string{"--log-format=xml"}); err == nil || !strings.Contains(err.Error(), "json") {
		t.Errorf("want an error that names the formats, got %v", err)
	}
}
