package guides

import (
	"path/filepath"
	"testing"
)

// TestConnect connects clusters by the commands of docs/how-to/connect-a-cluster.md, but for a workspace of kcp, whose
// path is that of the reader.
func TestConnect(t *testing.T) {
	page := filepath.Join(top, "docs", "how-to", "connect-a-cluster.md")
	d := newDesk(t)
	d.Run(t, "kubectl create namespace crossplane-system")
	d.follow(t, page, "## Kubeconfig")
	d.follow(t, page, "## Control plane itself")
	d.follow(t, page, "## Rotate credentials")
}
