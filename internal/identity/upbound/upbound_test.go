package upbound

import (
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestOrganization(t *testing.T) {
	plugin := func(command string, args ...string) *clientcmdapi.ExecConfig {
		return &clientcmdapi.ExecConfig{APIVersion: execVersion, Command: command, Args: args}
	}
	byEnv := plugin("up", "org", "token", "a")
	byEnv.Env = []clientcmdapi.ExecEnvVar{{Name: "OTHER", Value: "x"}, {Name: "ORGANIZATION", Value: "b"}}
	old := plugin("up", "org", "token", "a")
	old.APIVersion = "client.authentication.k8s.io/v1beta1"
	for name, tc := range map[string]struct {
		reason string
		exec   *clientcmdapi.ExecConfig
		want   string
		err    string // part of the message
	}{
		"Argument": {
			reason: "The third argument names it.",
			exec:   plugin("up", "organization", "token", "a"),
			want:   "a",
		},
		"Short":    {reason: "The command has a short form.", exec: plugin("up", "org", "token", "a"), want: "a"},
		"Variable": {reason: "The variable wins.", exec: byEnv, want: "b"},
		"None": {
			reason: "One of them is needed.",
			exec:   plugin("up", "org", "token"),
			err:    "must name an organization",
		},
		"NoPlugin": {reason: "So is the plugin.", err: "users[].user.exec is missing"},
		"Old":      {reason: "Of the right version.", exec: old, err: "users[].user.exec.apiVersion"},
		"Other": {
			reason: "And the right command.",
			exec:   plugin("down", "org", "token", "a"),
			err:    "up organization token",
		},
		"OtherArgs": {
			reason: "With the right arguments.",
			exec:   plugin("up", "org", "list", "a"),
			err:    "up organization token",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := organization(tc.exec)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) ||
				got != tc.want {
				t.Errorf("%s\nwant %q and an error that contains %q, got %q and %v", tc.reason, tc.want, tc.err, got,
					err)
			}
		})
	}
}
