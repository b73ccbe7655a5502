package e2e_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

func TestRefusesFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string // in the log
	}{
		"PollJitterOf100": {
			args: []string{"--poll-jitter-percentage=100"},
			want: "--poll-jitter-percentage must be below 100",
		},
		"LeaseOfHalfSeconds": {
			args: []string{"--leader-election", "--leader-election-lease-duration=1500ms"},
			want: "--leader-election-lease-duration must be in whole seconds",
		},
		"LeaseTooShort": {
			args: []string{"--leader-election", "--leader-election-lease-duration=10s"},
			want: "leaseDuration must be greater than renewDeadline",
		},
		"NoName": {
			args: []string{"--leader-election", "--leader-election-id=Team_A"},
			want: "--leader-election-id: ",
		},
		"UnknownFlag": {args: []string{"--no-such-flag"}, want: "unknown long flag '--no-such-flag'"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, tc.args...)
			program.AwaitEnd(t, p)
			if p.ExitCode() <= 0 {
				t.Errorf("exit code: want a failure, got %d", p.ExitCode())
			}
			if !strings.Contains(p.Log(), tc.want) {
				t.Errorf("log: want it to hold %q, got\n%s", tc.want, p.Log())
			}
		})
	}
}

func TestRunsWithKubeconfigFromEnvironment(t *testing.T) {
	c, _ := clients(t)
	program.Start(t, local.User(t, user, admins), provider.Options{KubeconfigByEnv: true})
	newFleet(t, c, 2).settle(t, c)
}

// get returns the answer to a GET request, with status code 0 and the error if there is none.
func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(b)
}
