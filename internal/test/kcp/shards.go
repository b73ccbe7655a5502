package kcp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

const (
	loopback = "127.0.0.1"
	// RootShard is the name of the first shard, which has the workspace at the top.
	RootShard = "root"

	// Clients with a certificate. The front proxy lets no groups through that are the servers' own.
	master        = "master"      // a program, to another one
	administrator = "admin"       // a test
	external      = "external"    // a shard, to the front proxy
	frontProxy    = "front-proxy" // the front proxy, for a user
)

// Shards are a kcp of several shards, with a cache server and a front proxy. Set Others before Run; use it after.
type Shards struct {
	// Others are the names of shards beside RootShard.
	Others []string

	dir      string
	ca       *authority
	front    string // URL of the front proxy
	cache    string // path of the kubeconfig of the cache server
	released []func()
	programs []*local.Program
	shards   map[string]*local.Program
}

// Start is for Run.
func (s *Shards) Start(ctx context.Context) (stop func() error, err error) {
	if s.dir, err = os.MkdirTemp("", "kcp-shards-"); err != nil {
		return nil, errors.Wrap(err, "cannot make folder of kcp")
	}
	s.shards = map[string]*local.Program{}
	if err := s.start(ctx); err != nil {
		_ = s.stop() // Why it did not start matters more.
		return nil, err
	}
	return s.stop, nil
}

// start starts all programs, each when those it asks are there.
func (s *Shards) start(ctx context.Context) error {
	if err := s.certify(); err != nil {
		return err
	}
	port, err := s.port()
	if err != nil {
		return err
	}
	s.front = urlOf(port)
	for name, user := range map[string]string{"logical-clusters": master, "external": external} {
		if err := s.writeKubeconfig(name, s.ca.config(s.front, user)); err != nil {
			return err
		}
	}
	if err := s.startCache(ctx); err != nil {
		return err
	}
	for _, name := range append([]string{RootShard}, s.Others...) {
		if err := s.startShard(ctx, name); err != nil {
			return err
		}
	}
	return s.startFront(ctx, port)
}

// certify makes the certificates of all.
func (s *Shards) certify() (err error) {
	if s.ca, err = newAuthority(s.dir); err != nil {
		return err
	}
	for name, groups := range map[string][]string{
		master:        {"system:masters"},
		administrator: {"system:kcp:admin"},
		external:      {"system:kcp:external-logical-cluster-admin"},
		frontProxy:    nil,
	} {
		if err := s.ca.issue(name, groups...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shards) port() (string, error) {
	number, release, err := local.ReservePort()
	if err == nil {
		s.released = append(s.released, release)
	}
	return number, err
}

func urlOf(port string) string { return "https://" + loopback + ":" + port }

// startCache starts the cache server, by which shards know of each other's APIs.
func (s *Shards) startCache(ctx context.Context) error {
	args, port, err := s.serving("cache", "--client-ca-file="+s.ca.path("ca.crt"))
	if err != nil {
		return err
	}
	cfg := s.ca.config(urlOf(port), master)
	if err := s.writeKubeconfig("cache", cfg); err != nil {
		return err
	}
	s.cache = s.kubeconfig("cache")
	_, err = s.run(ctx, "cache", "cache-server", cfg, "/readyz", args...)
	return err
}

// serving returns the arguments of a server with an etcd of its own, and its port.
func (s *Shards) serving(name string, more ...string) (args []string, port string, err error) {
	var ports [3]string
	for i := range ports {
		if ports[i], err = s.port(); err != nil {
			return nil, "", err
		}
	}
	return append([]string{
		"--root-directory=" + filepath.Join(s.dir, name),
		"--bind-address=" + loopback,
		"--secure-port=" + ports[0],
		"--tls-cert-file=" + s.ca.path(master+".crt"),
		"--tls-private-key-file=" + s.ca.path(master+".key"),
		"--embedded-etcd-client-port=" + ports[1],
		"--embedded-etcd-peer-port=" + ports[2],
	}, more...), ports[0], nil
}

// startShard starts a new shard. The first is the root shard.
func (s *Shards) startShard(ctx context.Context, name string) error {
	args, port, err := s.serving(name,
		"--shard-name="+name,
		"--shard-external-url="+s.front,
		"--external-hostname="+loopback,
		"--client-ca-file="+s.ca.path("ca.crt"),
		"--requestheader-client-ca-file="+s.ca.path("ca.crt"),
		"--requestheader-allowed-names="+frontProxy,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--service-account-key-file="+s.ca.path("ca.key"),
		"--service-account-private-key-file="+s.ca.path("ca.key"),
		"--service-account-signing-key-file="+s.ca.path("ca.key"),
		"--logical-cluster-admin-kubeconfig="+s.kubeconfig("logical-clusters"),
		"--external-logical-cluster-admin-kubeconfig="+s.kubeconfig("external"),
		"--shard-client-cert-file="+s.ca.path(master+".crt"),
		"--shard-client-key-file="+s.ca.path(master+".key"),
		"--shard-virtual-workspace-ca-file="+s.ca.path("ca.crt"),
		"--cache-kubeconfig="+s.cache,
		// Open watches would otherwise keep it from stopping for a minute.
		"--shutdown-watch-termination-grace-period=1s",
	)
	if err != nil {
		return err
	}
	url := urlOf(port)
	cfg := s.ca.config(url, master)
	args = append([]string{"start", "--shard-base-url=" + url}, args...)
	if name != RootShard {
		args = append(args, "--root-shard-kubeconfig-file="+s.kubeconfig(RootShard))
	} else if err := s.writeKubeconfig(RootShard, cfg); err != nil {
		return err
	}
	s.shards[name], err = s.run(ctx, name, "kcp", cfg, "/readyz", args...)
	return err
}

// startFront starts the front proxy, which finds the shard of a workspace.
func (s *Shards) startFront(ctx context.Context, port string) error {
	mapping := s.ca.path("mapping.yaml")
	// The backend is not asked: each workspace's shard is.
	content := fmt.Sprintf("- path: /clusters/\n  backend: %s\n  backend_server_ca: %s\n  proxy_client_cert: %s\n"+
		"  proxy_client_key: %s\n", s.front, s.ca.path("ca.crt"), s.ca.path(frontProxy+".crt"),
		s.ca.path(frontProxy+".key"))
	if err := os.WriteFile(mapping, []byte(content), 0o600); err != nil {
		return errors.Wrap(err, "cannot write mapping of front proxy")
	}
	_, err := s.run(ctx, "front", "kcp-front-proxy", s.ca.config(s.front, administrator),
		"/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes/universal",
		"--root-directory="+filepath.Join(s.dir, "front"),
		"--bind-address="+loopback,
		"--secure-port="+port,
		"--tls-cert-file="+s.ca.path(master+".crt"),
		"--tls-private-key-file="+s.ca.path(master+".key"),
		"--client-ca-file="+s.ca.path("ca.crt"),
		"--mapping-file="+mapping,
		"--root-kubeconfig="+s.kubeconfig(RootShard),
		"--shards-kubeconfig="+s.kubeconfig(RootShard),
	)
	return err
}

// run starts a program in a folder.
func (s *Shards) run(ctx context.Context, dir, name string, cfg *rest.Config, path string, args ...string,
) (*local.Program, error) {
	p, err := local.StartProgram(ctx, local.ProgramOptions{
		Dir: filepath.Join(s.dir, dir), Name: name, Args: args, Ready: cfg, ReadyPath: path,
	})
	if err == nil {
		s.programs = append(s.programs, p)
	}
	return p, err
}

// stop ends all programs.
func (s *Shards) stop() error {
	errs := make([]error, 0, len(s.programs)+1)
	for _, p := range s.programs {
		errs = append(errs, p.Stop())
	}
	for _, release := range s.released {
		release()
	}
	return kerrors.NewAggregate(append(errs, os.RemoveAll(s.dir)))
}

func (s *Shards) kubeconfig(name string) string { return s.ca.path(name + ".kubeconfig") }

// writeKubeconfig writes one whose context has the name that kcp asks for.
func (s *Shards) writeKubeconfig(name string, cfg *rest.Config) error {
	const context = "shard-base"
	out := clientcmdapi.NewConfig()
	out.Clusters[context] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthority: cfg.CAFile}
	out.AuthInfos[context] = &clientcmdapi.AuthInfo{ClientCertificate: cfg.CertFile, ClientKey: cfg.KeyFile}
	out.Contexts[context] = &clientcmdapi.Context{Cluster: context, AuthInfo: context}
	out.CurrentContext = context
	return errors.Wrapf(clientcmd.WriteToFile(*out, s.kubeconfig(name)), "cannot write kubeconfig %q", name)
}

// Config returns the administrator's configuration for a workspace, through the front proxy.
func (s *Shards) Config(workspace string) *rest.Config {
	cfg := s.ca.config(s.front+"/clusters/"+workspace, administrator)
	// ServiceAccount and Kubeconfig know no files.
	if err := rest.LoadTLSFiles(cfg); err != nil {
		panic(err)
	}
	return cfg
}

// Workspace creates a workspace on a shard, waits until it is ready, and returns its path and the administrator's
// configuration for it.
func (s *Shards) Workspace(tb testing.TB, shard string) (path string, cfg *rest.Config) {
	tb.Helper()
	c, err := client.New(s.Config(root), client.Options{})
	if err != nil {
		tb.Fatalf("cannot make client: %v", err)
	}
	ws := newWorkspace()
	if err := unstructured.SetNestedStringMap(ws.Object, map[string]string{"name": shard},
		"spec", "location", "selector", "matchLabels"); err != nil {
		tb.Fatal(err)
	}
	if err := c.Create(tb.Context(), ws); err != nil {
		tb.Fatalf("cannot create workspace: %v", err)
	}
	awaitReady(tb, c, ws)
	path = root + ":" + ws.GetName()
	return path, s.Config(path)
}

// Stop ends a shard: its address refuses connections until Return, or until the test ends. Its data stay.
func (s *Shards) Stop(tb testing.TB, shard string) {
	tb.Helper()
	if err := s.shards[shard].Stop(); err != nil {
		tb.Fatal(err)
	}
}

// Return brings a shard back after Stop, with the same address and data.
func (s *Shards) Return(tb testing.TB, shard string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), time.Minute*3)
	defer cancel()
	if err := s.shards[shard].Start(ctx); err != nil {
		tb.Fatal(err)
	}
}

// Add starts one more shard.
func (s *Shards) Add(tb testing.TB, shard string) {
	tb.Helper()
	if err := s.startShard(context.WithoutCancel(tb.Context()), shard); err != nil {
		tb.Fatal(err)
	}
}
