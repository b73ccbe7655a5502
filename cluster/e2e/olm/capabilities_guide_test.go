package olm

import (
	"path/filepath"
	"testing"

	testguide "github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// capabilitiesGuide is the guide of the stacks.
var capabilitiesGuide = filepath.Join(top, "docs", "capabilities.md")

// followsCapabilities tries a stack as the guide says, line by line. First it makes the ProviderConfigs that the
// examples of stacks name, by the commands of the guide.
func (s *site) followsCapabilities(t *testing.T) {
	s.Write(t, "remote.kubeconfig", kube.Kubeconfig(t, asUser(t, &target)))
	install := testguide.Commands(t, capabilitiesGuide, "## Install")
	s.Run(t, install[len(install)-1])
	try := testguide.Commands(t, capabilitiesGuide, "## Try it")
	x := olms(1, 0, 0)[0]
	s.takeInventories(t)
	s.history = newHistory(t, watched)
	s.Run(t, try[0])
	s.awaitSettled(t, claims, x)
	s.Run(t, try[1])
	s.awaitEmpty(t, x)
}
