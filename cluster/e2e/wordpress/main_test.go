package wordpress

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// soon is how long anything may take that must happen at once; a busy machine is slower than the software.
	soon   = 2 * time.Minute
	admins = "system:masters"
)

// Applications live on one cluster, and run on two others.
var (
	control = kube.Server{ControllerManager: true}
	north   = kube.Server{ControllerManager: true}
	south   = kube.Server{ControllerManager: true}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &control, withNodes(&north), withNodes(&south))) }

// withNodes starts a server whose nodes are played by KWOK.
func withNodes(s *kube.Server) local.StartFunc {
	return func(ctx context.Context) (func() error, error) {
		stop, err := s.Start(ctx)
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp("", "nodes-")
		if err != nil {
			_ = stop()
			return nil, errors.Wrap(err, "cannot make folder of nodes")
		}
		nodes, err := local.StartNodes(ctx, local.NodesOptions{Dir: filepath.Join(dir, "kwok"), Config: s.Config()})
		if err != nil {
			_ = stop() // Why they did not start matters more than what else goes wrong.
			return nil, err
		}
		return func() error {
			if err := nodes.Stop(); err != nil {
				return err
			}
			if err := os.RemoveAll(dir); err != nil {
				return errors.Wrap(err, "cannot remove folder of nodes")
			}
			return stop()
		}, nil
	}
}
