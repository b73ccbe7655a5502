package kube

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// WithNodes is for Run: the server, with nodes that KWOK plays. It needs a controller manager, and the tools of make
// tools.e2e.
func (s *Server) WithNodes() local.StartFunc {
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
