package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// up starts what o says and stops it again when ctx ends.
func up(ctx context.Context, o upOptions, out io.Writer) (rerr error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return errors.Wrap(err, "cannot make folder")
	}
	l, err := lock(o.dir)
	if err != nil {
		return err
	}
	defer l.unlock()
	ready := filepath.Join(o.dir, "ready")
	if err := os.RemoveAll(ready); err != nil {
		return errors.Wrap(err, "cannot remove old mark")
	}
	begin := time.Now()
	stop, err := local.StartAll(ctx, starters(o, out)...)
	if err != nil && ctx.Err() != nil {
		sayf(out, "stopped before all was ready")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		if err := stop(); rerr == nil {
			rerr = err
		}
		if rerr == nil {
			sayf(out, "stopped")
		}
	}()
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		return errors.Wrap(err, "cannot mark as ready")
	}
	sayf(out, "all ready after %.1fs, kubeconfigs in %s; Ctrl-C stops", time.Since(begin).Seconds(), o.dir)
	<-ctx.Done()
	sayf(out, "stopping")
	return errors.Wrap(os.RemoveAll(ready), "cannot remove mark")
}

func starters(o upOptions, out io.Writer) []local.Starter {
	var s []local.Starter
	for _, name := range o.clusters {
		s = append(s, clusterStarter(o, name, out))
	}
	if o.kcp {
		s = append(s, kcpStarter(o, out))
	}
	return s
}

func clusterStarter(o upOptions, name string, out io.Writer) local.StartFunc {
	return func(ctx context.Context) (func() error, error) {
		c, err := local.StartCluster(ctx, local.ClusterOptions{
			Dir: filepath.Join(o.dir, name), ControllerManager: o.controllerManager, Audit: o.audit, Log: out,
		})
		if err != nil {
			return nil, err
		}
		if err := c.WriteKubeconfig(); err != nil {
			_ = c.Stop()
			return nil, err
		}
		return c.Stop, nil
	}
}

func kcpStarter(o upOptions, out io.Writer) local.StartFunc {
	return func(ctx context.Context) (func() error, error) {
		k, err := local.StartKCP(ctx, local.KCPOptions{Dir: filepath.Join(o.dir, kcpName), Audit: o.audit, Log: out})
		if err != nil {
			return nil, err
		}
		if err := k.WriteKubeconfig(); err != nil {
			_ = k.Stop()
			return nil, err
		}
		return k.Stop, nil
	}
}

func sayf(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}
