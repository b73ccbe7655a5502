package olm

import (
	"os"
	"path/filepath"
	"testing"

	testguide "github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// capabilitiesGuide is the guide of the stacks.
var capabilitiesGuide = filepath.Join(top, "docs", "capabilities.md")

// connectAsGuide makes the ProviderConfigs that the examples of stacks name, by the commands of the guide. It returns
// where these ran.
func (s *site) connectAsGuide(t *testing.T) testguide.Shell {
	t.Helper()
	shell := testguide.NewShell(t, s.server.Config(), filepath.Join(top, "examples"))
	remote := filepath.Join(shell.Dir, "remote.kubeconfig")
	if err := os.WriteFile(remote, kube.Kubeconfig(t, asUser(t, &target)), 0o600); err != nil {
		t.Fatal(err)
	}
	install := testguide.Commands(t, capabilitiesGuide, "## Install")
	shell.Run(t, install[len(install)-1])
	return shell
}

// followsCapabilities tries a stack as the guide says, line by line.
func (s *site) followsCapabilities(t *testing.T) {
	shell, try := s.connectAsGuide(t), testguide.Commands(t, capabilitiesGuide, "## Try it")
	x := olms(1, 0, 0)[0]
	s.takeInventories(t)
	s.history = newHistoryOf(t, watched)
	shell.Run(t, try[0])
	s.awaitSettled(t, claims, x)
	shell.Run(t, try[1])
	s.awaitEmpty(t, x)
}
