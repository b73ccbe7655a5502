package guides

import (
	"path/filepath"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestPublish goes through docs/tutorials/publish-an-api.md with the real cert-manager, and from its published API
// through docs/how-to/control-consumers-objects.md, docs/how-to/sync-related-objects.md and, as another consumer,
// docs/how-to/use-a-published-api.md. The commands wait for what the guides promise.
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

	page := filepath.Join(top, "docs", "tutorials", "publish-an-api.md")
	for _, heading := range []string{
		"## Grant permissions", "## Connect kcp", "## Publish", "## Bind", "## Create a Certificate", "## See the copy",
	} {
		d.follow(t, page, heading)
	}
	ran, howTo := d.ran, filepath.Join(top, "docs", "how-to")
	for _, heading := range []string{"## Filter", "## Set fields", "## Choose names", "## Hide status", "## Undo"} {
		d.follow(t, filepath.Join(howTo, "control-consumers-objects.md"), heading)
	}
	for _, heading := range []string{"## Reference", "## Clean up"} {
		d.follow(t, filepath.Join(howTo, "sync-related-objects.md"), heading)
	}
	for _, heading := range []string{"## Bind", "## Accept claims", "## Create", "## Read the Secret", "## Leave"} {
		for _, commands := range guide.Path(t, filepath.Join(howTo, "use-a-published-api.md"), heading) {
			d.Run(t, "export KUBECONFIG=other.kubeconfig\n"+commands)
		}
	}
	d.ran = ran // What follows is of the first page again.
	d.follow(t, page, "## Clean up")
	d.wantAllRun(t, page)
}
