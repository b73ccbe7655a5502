package local

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
)

const catalogTimeout = 60 * time.Second

// OLMNamespace is where OLM looks for catalogs that serve all namespaces. Nobody makes it but the user of an OLM.
const OLMNamespace = "olm"

// OLMOptions say for which cluster to run OLM, and what it may install.
type OLMOptions struct {
	// Dir holds all files, and is made if it is not there. Required.
	Dir string
	// Config is that of an administrator of the cluster, which must serve OLM's CustomResourceDefinitions, those of
	// OLMDefinitions. Required.
	Config *rest.Config
	// Catalog is the folder of a file-based catalog. Its bundles must be inlined, as there is nothing that pulls
	// images. Required.
	Catalog string
}

// OLM is the Operator Lifecycle Manager, its two operators, and the server of one catalog. It runs Deployments as
// anybody does: without Nodes none gets ready.
type OLM struct {
	daemon

	address string
}

// OLMDefinitions returns the path of the folder with OLM's CustomResourceDefinitions.
func OLMDefinitions() (string, error) { return Data("olm", "olm-crds") }

// StartOLM returns when the catalog is served; the operators begin with what they find a moment later. Context ctx ends
// the start, not OLM; callers stop it.
func StartOLM(ctx context.Context, o OLMOptions) (*OLM, error) {
	m := &OLM{}
	if err := m.open(o.Dir, o.Config); err != nil {
		return nil, errors.Wrap(err, "cannot prepare OLM")
	}
	if err := m.start(ctx, o.Catalog); err != nil {
		// Why it did not start matters more than what else goes wrong.
		_ = m.Stop()
		return nil, errors.Wrap(err, "cannot start OLM")
	}
	return m, nil
}

func (m *OLM) start(ctx context.Context, catalog string) error {
	if err := m.serve(ctx, catalog); err != nil {
		return err
	}
	// Both would listen on port 8080 of all addresses for metrics, which cannot be changed. The second fails to and
	// goes on.
	env := []string{"KUBECONFIG=" + m.kubeconfig}
	for _, operator := range [][]string{{"olm"}, {"catalog", "--namespace=" + OLMNamespace}} {
		p, err := m.thread.spawnWith(env, m.dir, operator[0], operator[1:]...)
		if err != nil {
			return err
		}
		m.processes = append(m.processes, p)
	}
	return nil
}

// serve starts the server of the catalog.
func (m *OLM) serve(ctx context.Context, catalog string) error {
	catalog, err := filepath.Abs(catalog)
	if err != nil {
		return errors.Wrap(err, "cannot find catalog")
	}
	p, err := m.reserve()
	if err != nil {
		return err
	}
	opm, err := m.thread.spawn(m.dir, "opm", "serve", catalog,
		"--port="+p.String(),
		"--cache-dir="+filepath.Join(m.dir, "catalog"),
		"--cache-enforce-integrity=false", // It need not be there yet.
		"--pprof-addr=",                   // Or it would take a port that another one has, and end.
		"--termination-log="+filepath.Join(m.dir, "opm.end"),
	)
	if err != nil {
		return err
	}
	m.processes = append(m.processes, opm)
	m.address = p.addr()
	return opm.await(ctx, catalogTimeout, func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp4", m.address)
		if err != nil {
			return errors.Wrap(err, "cannot reach catalog")
		}
		return errors.Wrap(conn.Close(), "cannot close connection")
	})
}

// CatalogAddress is where the catalog is served, for the spec.address of a CatalogSource.
func (m *OLM) CatalogAddress() string { return m.address }
