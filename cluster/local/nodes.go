package local

import (
	"context"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
)

const nodesTimeout = 60 * time.Second

// stages are what KWOK makes of nodes and pods, below its data: they are Ready at once, and gone as soon as they are
// deleted.
var stages = []string{
	"node/fast/node-initialize.yaml",
	"node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"pod/fast/pod-ready.yaml",
	"pod/fast/pod-complete.yaml",
	"pod/fast/pod-delete.yaml",
}

// NodesOptions say for which cluster to play nodes.
type NodesOptions struct {
	// Dir holds all files, and is made if it is not there. Required.
	Dir string
	// Config is that of an administrator of the cluster. Required.
	Config *rest.Config
}

// Nodes is a KWOK: it lets all nodes of a cluster, and the pods on them, look as if they ran. There is no scheduler:
// pods name their node.
type Nodes struct {
	daemon
}

// StartNodes returns when KWOK looks after nodes. Context ctx ends the start, not KWOK; callers stop it.
func StartNodes(ctx context.Context, o NodesOptions) (*Nodes, error) {
	n := &Nodes{}
	if err := n.open(o.Dir, o.Config); err != nil {
		return nil, errors.Wrap(err, "cannot prepare KWOK")
	}
	if err := n.start(ctx); err != nil {
		// Why it did not start matters more than what else goes wrong.
		_ = n.Stop()
		return nil, errors.Wrap(err, "cannot start KWOK")
	}
	return n, nil
}

func (n *Nodes) start(ctx context.Context) error {
	data, err := Data("kwok", "stages")
	if err != nil {
		return err
	}
	p, err := n.reserve()
	if err != nil {
		return err
	}
	flags := []string{
		"--kubeconfig=" + n.kubeconfig,
		"--manage-all-nodes",
		"--server-address=" + p.addr(),
		// The nodes renew their leases, or the controller manager would take them for dead.
		"--node-lease-duration-seconds=40",
	}
	for _, s := range stages {
		flags = append(flags, "--config="+filepath.Join(data, filepath.FromSlash(s)))
	}
	kwok, err := n.thread.spawn(n.dir, "kwok", flags...)
	if err != nil {
		return err
	}
	n.processes = append(n.processes, kwok)
	healthy, err := Answers(&rest.Config{Host: "http://" + p.addr()}, "/healthz")
	if err != nil {
		return err
	}
	return kwok.await(ctx, nodesTimeout, healthy)
}
