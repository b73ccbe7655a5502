package target

import (
	"strings"

	"github.com/pkg/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// AllClusters is the end of the URL of a virtual workspace of kcp that shows all its logical clusters.
const AllClusters = "/clusters/*"

// In returns a client of one logical cluster, by the same connection, for a cluster that is a virtual workspace of all
// of them.
func (c *Cluster) In(logical string) (dynamic.Interface, error) {
	cfg := rest.CopyConfig(c.config)
	cfg.Host = strings.TrimSuffix(cfg.Host, "*") + logical
	d, err := dynamic.NewForConfigAndClient(cfg, c.http)
	return d, errors.Wrapf(err, "cannot make a client of logical cluster %q", logical)
}

// Dynamic returns a client of the cluster.
func (c *Cluster) Dynamic() dynamic.Interface { return c.dynamic }
