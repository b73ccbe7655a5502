package local

import (
	"os"
	"path/filepath"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
)

// A daemon is what Nodes and OLM have in common: processes that work for one cluster.
type daemon struct {
	dir        string
	kubeconfig string // path
	thread     thread
	ports      []*port
	processes  []*process
	stopped    bool
}

// open makes the folder, with the kubeconfig in it. Without an error, callers stop the daemon.
func (d *daemon) open(dir string, cfg *rest.Config) error {
	abs, err := filepath.Abs(dir)
	if err != nil || dir == "" {
		return errors.Errorf("cannot use folder %q", dir)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return errors.Wrap(err, "cannot make folder")
	}
	b, err := Kubeconfig(cfg)
	if err != nil {
		return err
	}
	d.dir, d.kubeconfig = abs, filepath.Join(abs, "kubeconfig")
	if err := os.WriteFile(d.kubeconfig, b, 0o600); err != nil {
		return errors.Wrap(err, "cannot write kubeconfig")
	}
	d.thread = newThread()
	return nil
}

func (d *daemon) reserve() (*port, error) {
	p, err := reservePort()
	if err == nil {
		d.ports = append(d.ports, p)
	}
	return p, err
}

// Stop ends the processes and returns when they are gone. It may be called again.
func (d *daemon) Stop() error {
	if d.stopped {
		return nil
	}
	d.stopped = true
	stops := make([]func() error, 0, len(d.processes))
	for _, p := range d.processes {
		stops = append(stops, p.stop)
	}
	err := stopAll(stops)
	for _, p := range d.ports {
		p.release()
	}
	d.thread.close()
	return errors.Wrapf(err, "cannot stop %q", d.name())
}

func (d *daemon) name() string { return filepath.Base(d.dir) }
