package local

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	crossplaneTimeout = 60 * time.Second
	// crossplaneCA and crossplaneClient are the Secrets in which Crossplane keeps the certificates it makes.
	crossplaneCA     = "crossplane-root-ca"
	crossplaneClient = "crossplane-tls-client"
)

// crossplaneAccount is the ServiceAccount of Crossplane, whose pull secrets its packages share.
const crossplaneAccount = "crossplane"

// CrossplaneNamespace is where Crossplane runs, and the packages it installs.
const CrossplaneNamespace = "crossplane-system"

// CrossplaneOptions say for which cluster to run Crossplane.
type CrossplaneOptions struct {
	// Dir holds all files, and is made if it is not there. Required.
	Dir string
	// Config is that of an administrator of the cluster, which must have a controller manager. Required.
	Config *rest.Config
}

// A Crossplane is Crossplane 2 with its package manager and its manager of rights. What it installs it runs as
// Deployments: without Nodes none gets ready. It has no webhooks, which protect what is in use from deletion. Packages
// activate no kind by themselves.
type Crossplane struct {
	daemon

	runtime string // of packages
}

// functionsElsewhere lets Crossplane run providers as Deployments, but not functions. Callers run functions themselves,
// and write their endpoints into the revisions.
const functionsElsewhere = "Provider=Deployment;Function=External"

// StartCrossplane returns when Crossplane is ready. Context ctx ends the start, not Crossplane; callers stop it.
func StartCrossplane(ctx context.Context, o CrossplaneOptions) (*Crossplane, error) {
	x := &Crossplane{runtime: functionsElsewhere}
	return x.begin(ctx, o, x.start)
}

// begin prepares Crossplane and has it started.
func (x *Crossplane) begin(ctx context.Context, o CrossplaneOptions,
	start func(context.Context, *rest.Config) error,
) (*Crossplane, error) {
	if err := x.open(o.Dir, o.Config); err != nil {
		return nil, errors.Wrap(err, "cannot prepare Crossplane")
	}
	if err := start(ctx, o.Config); err != nil {
		// Why it did not start matters more than what else goes wrong.
		_ = x.Stop()
		return nil, errors.Wrap(err, "cannot start Crossplane")
	}
	return x, nil
}

func (x *Crossplane) start(ctx context.Context, cfg *rest.Config) error {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return errors.Wrap(err, "cannot make client")
	}
	if err := x.initialise(ctx, c); err != nil {
		return err
	}
	certs := filepath.Join(x.dir, "tls", "client")
	if err := writeSecret(ctx, c, client.ObjectKey{Namespace: CrossplaneNamespace, Name: crossplaneClient},
		certs); err != nil {
		return err
	}
	return x.run(ctx, "crossplane", certs, []string{"rbac", "start"}, []string{"core", "start", "--debug"})
}

// run starts a program once for each of some arguments, the core last, and returns when that is ready.
func (x *Crossplane) run(ctx context.Context, program, certs string, all ...[]string) error {
	packages := filepath.Join(x.dir, "packages")
	if err := os.MkdirAll(packages, 0o700); err != nil {
		return errors.Wrap(err, "cannot make folder of packages")
	}
	metrics, err := x.reserve()
	if err != nil {
		return err
	}
	health, err := x.reserve()
	if err != nil {
		return err
	}
	env := append(x.env(),
		"TLS_CLIENT_CERTS_DIR="+certs, "XPKG_CACHE_DIR="+packages, "PACKAGE_RUNTIME="+x.runtime,
		"METRICS_PORT="+metrics.String(), "HEALTH_PROBE_PORT="+health.String())
	var core *process
	for _, args := range all {
		if core, err = x.thread.spawnWith(env, x.dir, program, args...); err != nil {
			return err
		}
		x.processes = append(x.processes, core)
	}
	ready, err := Answers(&rest.Config{Host: "http://" + health.addr()}, "/readyz")
	if err != nil {
		return err
	}
	return core.await(ctx, crossplaneTimeout, ready)
}

// Log returns what Crossplane has printed: its processes share a file.
func (x *Crossplane) Log() string {
	b, err := os.ReadFile(x.processes[0].log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (x *Crossplane) env() []string {
	return []string{
		"KUBECONFIG=" + x.kubeconfig, "POD_NAMESPACE=" + CrossplaneNamespace, "ENABLE_WEBHOOKS=false",
		"TLS_CA_SECRET_NAME=" + crossplaneCA, "TLS_CLIENT_SECRET_NAME=" + crossplaneClient,
	}
}

// initialise makes what Crossplane needs of a cluster, and lets it make the rest: its CustomResourceDefinitions and
// certificates.
func (x *Crossplane) initialise(ctx context.Context, c client.Client) error {
	if err := prepare(ctx, c); err != nil {
		return err
	}
	data, err := Data("crossplane", "crossplane-cluster")
	if err != nil {
		return err
	}
	env := append(x.env(), "CRDS_PATH="+filepath.Join(data, "crds"))
	// The first time it may use a kind before the server has noticed that it is defined.
	return poll(ctx, crossplaneTimeout, func(ctx context.Context) error {
		p, err := x.thread.spawnWith(env, x.dir, "crossplane", "core", "init")
		if err != nil {
			return err
		}
		select {
		case <-p.exited:
		case <-ctx.Done():
			return errors.Wrap(p.stop(), "cannot stop initialisation")
		}
		if !p.cmd.ProcessState.Success() {
			return withTail(errors.Errorf("cannot initialise: %s", p.cmd.ProcessState), p.log)
		}
		return nil
	})
}

// prepare makes what Crossplane needs of a cluster and does not make itself.
func prepare(ctx context.Context, c client.Client) error {
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: CrossplaneNamespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: CrossplaneNamespace, Name: crossplaneAccount}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: CrossplaneNamespace, Name: crossplaneCA}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: CrossplaneNamespace, Name: crossplaneClient}},
	} {
		if err := client.IgnoreAlreadyExists(c.Create(ctx, o)); err != nil {
			return errors.Wrapf(err, "cannot create %s", o.GetName())
		}
	}
	return nil
}

// writeSecret writes the content of a Secret to a folder.
func writeSecret(ctx context.Context, c client.Client, key client.ObjectKey, dir string) error {
	s := &corev1.Secret{}
	if err := c.Get(ctx, key, s); err != nil {
		return errors.Wrapf(err, "cannot get Secret %s", key.Name)
	}
	return errors.Wrapf(writeFiles(dir, s.Data), "cannot write Secret %s", key.Name)
}

// writeFiles writes files, by their names, to a folder, which is made.
func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errors.Wrap(err, "cannot make folder")
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return errors.Wrap(err, "cannot write file")
		}
	}
	return nil
}
