package kcp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

const (
	loopback = "127.0.0.1"
	// RootShard is the name of the first shard, which has the workspace at the top.
	RootShard = "root"

	// Clients with a certificate. The front proxy lets no groups through that are the servers' own.
	master        = "master"   // a program, to another one
	administrator = "admin"    // a test
	external      = "external" // a shard, to the front proxy
	// frontProxy is the front proxy, for a user. Shards must not take it for a user: another authority signs it.
	frontProxy = "front-proxy"
)

// Shards are a kcp of several shards, with a cache server and a front proxy, in which workspaces can move. Set Others
// before Run; use it after.
type Shards struct {
	// Others are the names of shards beside RootShard.
	Others []string

	dir      string
	ca       *local.Authority // of all but the front proxy as a client
	front    string           // URL of the front proxy
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
func (s *Shards) start(ctx context.Context) (err error) {
	if s.ca, err = local.NewAuthority(filepath.Join(s.dir, "ca")); err != nil {
		return err
	}
	for name, group := range map[string]string{
		master: "system:masters", administrator: "system:kcp:admin",
		external: "system:kcp:external-logical-cluster-admin",
	} {
		if err := s.ca.Write(name, group); err != nil {
			return err
		}
	}
	front, url, err := s.program("front", "kcp-front-proxy")
	if err != nil {
		return err
	}
	s.front = url
	if err := s.writeKubeconfig(external, s.ca.Client(s.front, external)); err != nil {
		return err
	}
	if err := s.startCache(ctx); err != nil {
		return err
	}
	requests, err := local.NewAuthority(filepath.Join(s.dir, frontProxy))
	if err != nil {
		return err
	}
	if err := requests.Write(frontProxy); err != nil {
		return err
	}
	for _, name := range append([]string{RootShard}, s.Others...) {
		if err := s.startShard(ctx, name); err != nil {
			return err
		}
	}
	return s.startFront(ctx, front, requests)
}

// program returns a server that serves at a URL once it is started.
func (s *Shards) program(dir, name string) (p *local.Program, url string, err error) {
	p = &local.Program{Dir: filepath.Join(s.dir, dir), Name: name}
	s.programs = append(s.programs, p)
	port, err := p.Port()
	p.Args = []string{
		"--root-directory=" + p.Dir,
		"--bind-address=" + loopback,
		"--secure-port=" + port,
		"--tls-cert-file=" + s.ca.Cert(master),
		"--tls-private-key-file=" + s.ca.Key(master),
		"--client-ca-file=" + s.ca.CA(),
	}
	return p, "https://" + loopback + ":" + port, err
}

// withEtcd is program with an etcd of its own.
func (s *Shards) withEtcd(dir, name string) (p *local.Program, url string, err error) {
	if p, url, err = s.program(dir, name); err != nil {
		return nil, "", err
	}
	for _, of := range []string{"client", "peer"} {
		port, err := p.Port()
		if err != nil {
			return nil, "", err
		}
		p.Args = append(p.Args, "--embedded-etcd-"+of+"-port="+port)
	}
	return p, url, nil
}

// run starts a program, which is ready when it answers a user at a path.
func (s *Shards) run(ctx context.Context, p *local.Program, url, user, path string) (err error) {
	if p.Ready, err = local.Answers(s.ca.Client(url, user), path); err != nil {
		return err
	}
	return p.Start(ctx)
}

// startCache starts the cache server, by which shards know of each other's APIs.
func (s *Shards) startCache(ctx context.Context) error {
	p, url, err := s.withEtcd("cache", "cache-server")
	if err != nil {
		return err
	}
	if err := s.writeKubeconfig("cache", s.ca.Client(url, master)); err != nil {
		return err
	}
	return s.run(ctx, p, url, master, "/readyz")
}

// startShard starts a new shard. The first is the root shard.
func (s *Shards) startShard(ctx context.Context, name string) error {
	p, url, err := s.withEtcd(name, "kcp")
	if err != nil {
		return err
	}
	s.shards[name] = p
	p.Args = append(append([]string{"start"}, p.Args...),
		"--shard-name="+name,
		"--shard-base-url="+url,
		"--shard-external-url="+s.front,
		"--requestheader-client-ca-file="+filepath.Join(s.dir, frontProxy, "ca.crt"),
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--service-account-private-key-file="+s.ca.Key(master),
		"--logical-cluster-admin-kubeconfig="+s.kubeconfig(RootShard),
		"--external-logical-cluster-admin-kubeconfig="+s.kubeconfig(external),
		"--shard-client-cert-file="+s.ca.Cert(master),
		"--shard-client-key-file="+s.ca.Key(master),
		"--shard-virtual-workspace-ca-file="+s.ca.CA(),
		"--cache-kubeconfig="+s.kubeconfig("cache"),
		"--feature-gates=LogicalClusterMigration=true",
		// Open watches would otherwise keep it from stopping for a minute.
		"--shutdown-watch-termination-grace-period=1s",
	)
	if name != RootShard {
		p.Args = append(p.Args, "--root-shard-kubeconfig-file="+s.kubeconfig(RootShard))
	} else if err := s.writeKubeconfig(RootShard, s.ca.Client(url, master)); err != nil {
		return err
	}
	return s.run(ctx, p, url, master, "/readyz")
}

// startFront starts the front proxy, which finds the shard of a workspace.
func (s *Shards) startFront(ctx context.Context, p *local.Program, requests *local.Authority) error {
	mapping := filepath.Join(s.dir, "mapping.yaml")
	// The backend is not asked: each workspace's shard is.
	content := fmt.Sprintf("- path: /clusters/\n  backend: %s\n  backend_server_ca: %s\n  proxy_client_cert: %s\n"+
		"  proxy_client_key: %s\n", s.front, s.ca.CA(), requests.Cert(frontProxy), requests.Key(frontProxy))
	if err := os.WriteFile(mapping, []byte(content), 0o600); err != nil {
		return errors.Wrap(err, "cannot write mapping of front proxy")
	}
	p.Args = append(p.Args,
		"--mapping-file="+mapping,
		"--root-kubeconfig="+s.kubeconfig(RootShard),
		"--shards-kubeconfig="+s.kubeconfig(RootShard),
	)
	return s.run(ctx, p, s.front, administrator,
		"/clusters/"+root+"/apis/tenancy.kcp.io/v1alpha1/workspacetypes/universal")
}

// stop ends all programs at the same time: one that waits for another takes long to end.
func (s *Shards) stop() error {
	errs := make([]error, len(s.programs))
	var stops sync.WaitGroup
	for i, p := range s.programs {
		stops.Go(func() { errs[i] = p.Close() })
	}
	stops.Wait()
	return kerrors.NewAggregate([]error{kerrors.NewAggregate(errs), os.RemoveAll(s.dir)})
}

func (s *Shards) kubeconfig(name string) string { return filepath.Join(s.dir, name+".kubeconfig") }

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
	cfg := s.ca.Client(s.front+"/clusters/"+workspace, administrator)
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
	c, ws := Client(tb, s.Config(root)), newWorkspace()
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

// Stop ends a shard: its address refuses connections until Return. Its data stay.
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
