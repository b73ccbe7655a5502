package guides

import (
	"path/filepath"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestPublish goes through docs/publish.md with the real cert-manager, and from its published API through docs/sync.md,
// docs/related-resources.md and, as another consumer, docs/consumers.md. The commands wait for what the guides promise.
// In the end it publishes the same API by the commands of README.md.
func TestPublish(t *testing.T) {
	d := newDesk(t)
	definitions, err := local.CertManagerDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	d.control.InstallCRDs(t, definitions)
	manager, err := local.StartCertManager(local.CertManagerOptions{Dir: t.TempDir(), Config: d.control.Config()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := manager.Stop(); err != nil {
			t.Error(err)
		}
	})
	d.Write(t, "services.kubeconfig", kube.Kubeconfig(t, workspaces.WorkspaceAt(t, "root:services")))
	for _, name := range []string{"consumer.kubeconfig", "other.kubeconfig"} {
		_, cfg := workspaces.Workspace(t)
		d.Write(t, name, kube.Kubeconfig(t, cfg))
	}

	page := filepath.Join(top, "docs", "publish.md")
	d.follow(t, page, "## Publish an API")
	d.follow(t, filepath.Join(top, "docs", "sync.md"), "## Decide what passes")
	d.follow(t, filepath.Join(top, "docs", "related-resources.md"), "## A Secret in each direction")
	for _, heading := range []string{"## From the binding to the Secret", "## Leave"} {
		for _, commands := range guide.Path(t, filepath.Join(top, "docs", "consumers.md"), heading) {
			d.Run(t, "export KUBECONFIG=other.kubeconfig\n"+commands)
		}
	}
	d.follow(t, page, "### Remove it")

	d.Run(t, guide.Path(t, page, "## Publish an API")[1]) // Makes kcp.kubeconfig again, which README takes for granted.
	d.RunAll(t, guide.Commands(t, filepath.Join(top, "README.md"), "## A first published API"))
}
