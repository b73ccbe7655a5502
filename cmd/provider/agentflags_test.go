package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
)

// TestAgentFlags shows that flags of api-syncagent that have another name here mean the same.
func TestAgentFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		arg  string
		want func(*flags)
	}{
		"LogFormat": {
			arg:  "--log-format=Console",
			want: func(f *flags) { f.logFormat = "Console" },
		},
		"DefaultLogFormat": {
			arg:  "--log-format=JSON",
			want: func(f *flags) { f.logFormat = "JSON" },
		},
		"Debug": {
			arg:  "--log-debug",
			want: func(f *flags) { f.debug = true },
		},
		"Namespace": {
			arg:  "--namespace=kcp-system",
			want: func(f *flags) { f.published.stateNamespace = "kcp-system" },
		},
		"LeaderElection": {
			arg:  "--enable-leader-election",
			want: func(f *flags) { f.election.enabled = true },
		},
		"MetricsAddress": {
			arg:  "--metrics-address=127.0.0.1:8085",
			want: func(f *flags) { f.metricsAddress = "127.0.0.1:8085" },
		},
		"HealthAddress": {
			arg:  "--health-address=:1",
			want: func(f *flags) { f.healthAddress = ":1" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := defaults()
			tc.want(&want)
			if diff := cmp.Diff(want, parse(t, tc.arg), compareFlags...); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.arg, diff)
			}
		})
	}
}

// TestFlagsOfTheAgent shows that each flag that the guide of the takeover names is accepted.
func TestFlagsOfTheAgent(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "migrate-from-api-syncagent.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(guide), "### Flags\n")
	table, _, _ = strings.Cut(table, "\n#")
	known := map[string]*kingpin.FlagModel{}
	app := kingpin.New("provider", "")
	newFlags(app)
	for _, flag := range app.Model().Flags {
		known[flag.Name] = flag
	}
	named := 0
	for line := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, m := range regexp.MustCompile("`--([a-z-]+)").FindAllStringSubmatch(first, -1) {
			named++
			switch flag := known[m[1]]; {
			case flag == nil:
				t.Errorf("--%s is not known", m[1])
			case flag.IsBoolFlag():
				parse(t, "--"+m[1])
			case m[1] != "log-format":
				parse(t, "--"+m[1]+"=a")
			}
		}
	}
	if named < 16 {
		t.Errorf("the table names %d flags", named)
	}
}

// TestAgentFlagsInOrder shows that the flags of api-syncagent that have no effect stand in one order in the help.
func TestAgentFlagsInOrder(t *testing.T) {
	var got []string
	app := kingpin.New("provider", "")
	newFlags(app)
	for _, flag := range app.Model().Flags {
		if flag.Envar == "" && !flag.Hidden {
			got = append(got, flag.Name)
		}
	}
	want := []string{
		"help", "version", "agent-name", "apiexport-hostport-override", "apiexport-ref", "apiexportendpointslice-ref",
		"disabled-controllers", "kcp-kubeconfig", "kubeconfig-ca-file-override", "kubeconfig-host-override",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags without a variable: -want, +got:\n%s", diff)
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
