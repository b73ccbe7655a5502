package local

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// KCPOptions say how to start a KCP.
type KCPOptions struct {
	// Dir holds all files of kcp, and is made if it is not there. Its last element is the name in Log. Required.
	Dir string
	// Audit logs every request. See KCP.AuditLog.
	Audit bool
	// Log gets a line when kcp is ready; nothing if nil.
	Log io.Writer
}

// KCP is a kcp with its embedded etcd: one shard, without front proxy.
type KCP struct {
	o       KCPOptions
	program *Program
	url     string       // of the server itself, not of a workspace
	admin   *rest.Config // likewise
	stopped bool
}

// StartKCP returns when workspaces can be created in the root workspace. Context ctx ends the start, not kcp; callers
// stop it.
func StartKCP(ctx context.Context, o KCPOptions) (*KCP, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil || o.Dir == "" {
		return nil, errors.Errorf("cannot use folder %q for kcp", o.Dir)
	}
	o.Dir = dir
	if o.Log == nil {
		o.Log = io.Discard
	}
	k := &KCP{o: o, program: &Program{Dir: dir, Name: "kcp"}}
	k.program.Ready = k.ready
	if err := k.start(ctx); err != nil {
		// Why it did not start matters more than what else goes wrong.
		_ = k.Stop()
		return nil, errors.Wrapf(err, "cannot start kcp %q", k.name())
	}
	return k, nil
}

func (k *KCP) start(ctx context.Context) error {
	begin := time.Now()
	if err := k.prepare(); err != nil {
		return err
	}
	if err := k.StartServer(ctx); err != nil {
		return err
	}
	report(k.o.Log, k.name()+": kcp ready", begin)
	return nil
}

// StartServer starts kcp again after StopServer: with the same address, data and users.
func (k *KCP) StartServer(ctx context.Context) error { return k.program.Start(ctx) }

// StopServer ends kcp and returns when it is gone. Its ports refuse connections until StartServer.
func (k *KCP) StopServer() error { return k.program.Stop() }

// prepare makes the folder and chooses ports, and thus the flags of kcp start.
func (k *KCP) prepare() error {
	if err := os.MkdirAll(k.o.Dir, 0o700); err != nil {
		return errors.Wrap(err, "cannot make folder of kcp")
	}
	var ports [3]string
	for i := range ports {
		var err error
		if ports[i], err = k.program.Port(); err != nil {
			return err
		}
	}
	k.url = "https://" + net.JoinHostPort(loopback, ports[0])
	k.program.Args = []string{
		"start",
		"--root-directory=" + k.o.Dir,
		"--bind-address=" + loopback,
		"--external-hostname=" + loopback,
		"--secure-port=" + ports[0],
		"--embedded-etcd-client-port=" + ports[1],
		"--embedded-etcd-peer-port=" + ports[2],
		"--shard-base-url=" + k.url,
		"--shard-external-url=" + k.url,
		// Open watches would otherwise keep it from stopping for a minute.
		"--shutdown-watch-termination-grace-period=1s",
	}
	if !k.o.Audit {
		return nil
	}
	audit, err := auditFlags(k.o.Dir)
	for name, value := range audit {
		k.program.Args = append(k.program.Args, "--"+name+"="+value)
	}
	return err
}

// ready finds the administrator's configuration when kcp has written it, and asks for what a new workspace needs.
func (k *KCP) ready(ctx context.Context) error {
	// Read again each time: a file of an earlier start is there until kcp replaces it.
	admin, err := k.readAdmin("")
	if err != nil {
		return err
	}
	k.admin = admin
	const tenancy = "/apis/tenancy.kcp.io/v1alpha1"
	check, err := Answers(k.Config("root"), "/readyz", tenancy+"/workspaces", tenancy+"/workspacetypes/universal")
	if err != nil {
		return err
	}
	return check(ctx)
}

// readAdmin reads the context of a name from the administrator's kubeconfig, the current one if it is empty.
func (k *KCP) readAdmin(name string) (*rest.Config, error) {
	file, err := clientcmd.LoadFromFile(k.adminKubeconfig())
	if err != nil {
		return nil, errors.Wrap(err, "cannot read kubeconfig of administrator")
	}
	cfg, err := clientcmd.NewDefaultClientConfig(*file, &clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
	if err != nil {
		return nil, errors.Wrap(err, "cannot use kubeconfig of administrator")
	}
	// The file points to a workspace.
	cfg.Host = k.url
	// A negative QPS means no limit; zero would mean client-go's default.
	cfg.QPS = -1
	return cfg, nil
}

// Stop ends kcp and returns when it is gone. It may be called again.
func (k *KCP) Stop() error {
	if k.stopped {
		return nil
	}
	k.stopped = true
	return errors.Wrapf(k.program.Close(), "cannot stop kcp %q", k.name())
}

// Config returns the administrator's configuration for a workspace, such as root or root:org:team, or for a logical
// cluster by its name. It has no limit of requests.
func (k *KCP) Config(workspacePath string) *rest.Config {
	cfg := rest.CopyConfig(k.admin)
	cfg.Host += "/clusters/" + workspacePath
	return cfg
}

// Master returns the configuration of a member of system:masters for a workspace. kcp refuses it nothing.
func (k *KCP) Master(workspacePath string) (*rest.Config, error) {
	cfg, err := k.readAdmin("shard-base")
	if err == nil {
		cfg.Host = k.Config(workspacePath).Host
	}
	return cfg, err
}

// AuditLog returns the path of the audit log, empty without Audit. See Cluster.AuditLog.
func (k *KCP) AuditLog() string {
	if !k.o.Audit {
		return ""
	}
	return auditLog(k.o.Dir)
}

func (k *KCP) adminKubeconfig() string {
	return filepath.Join(k.o.Dir, "admin.kubeconfig")
}

func (k *KCP) name() string {
	return filepath.Base(k.o.Dir)
}
