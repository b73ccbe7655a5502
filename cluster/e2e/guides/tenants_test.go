package guides

import (
	"path/filepath"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestIsolateTenants goes through docs/how-to/isolate-tenants.md, but for the flag, with a user of the kubeconfig that
// may only impersonate.
func TestIsolateTenants(t *testing.T) {
	page := filepath.Join(top, "docs", "how-to", "isolate-tenants.md")
	d := newDesk(t)
	d.Write(t, "target.kubeconfig", kube.Kubeconfig(t, target.User(t, user, admins)))
	d.Write(t, "connection", kube.Kubeconfig(t, target.User(t, "USER")))
	d.Run(t, "kubectl create namespace crossplane-system")
	d.Run(t, "kubectl create secret generic remote-kubeconfig -n crossplane-system --from-file=kubeconfig=connection")
	for _, heading := range []string{
		"Before you begin", "List namespaces", "Impersonate tenants", "Limit kinds by policy", "Verify",
	} {
		d.follow(t, page, "## "+heading)
	}
	d.Run(t, "! sed 's/ConfigMap/Secret/' examples/tenancy/object.yaml | kubectl apply --dry-run=server -f -")
}
