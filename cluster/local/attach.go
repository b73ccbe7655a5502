package local

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// rootWorkspace is the one that the kubeconfig of kcp points to.
const rootWorkspace = "root"

// WriteKubeconfig writes the administrator's kubeconfig beside the folder of the cluster, for AttachCluster.
func (c *Cluster) WriteKubeconfig() error { return writeKubeconfig(c.o.Dir, c.Config()) }

// WriteKubeconfig writes a kubeconfig for the root workspace beside the folder of kcp, for AttachKCP.
func (k *KCP) WriteKubeconfig() error { return writeKubeconfig(k.o.Dir, k.Config(rootWorkspace)) }

// AttachCluster returns a cluster that another process has started in a folder, with Audit, and runs. It can neither be
// stopped nor backed up here.
func AttachCluster(dir string) (*Cluster, error) {
	admin, err := readKubeconfig(dir)
	if err != nil {
		return nil, err
	}
	a, err := openAuthority(filepath.Join(dir, certsDir, usersDir))
	return &Cluster{o: ClusterOptions{Dir: dir, Audit: true}, admin: admin, users: users{a}}, err
}

// AttachKCP returns a kcp that another process has started in a folder, with Audit, and runs. It can neither be stopped
// nor backed up here.
func AttachKCP(dir string) (*KCP, error) {
	admin, err := readKubeconfig(dir)
	if err != nil {
		return nil, err
	}
	admin.Host = strings.TrimSuffix(admin.Host, "/clusters/"+rootWorkspace)
	return &KCP{o: KCPOptions{Dir: dir, Audit: true}, admin: admin}, nil
}

func kubeconfigPath(dir string) string { return dir + ".kubeconfig" }

func writeKubeconfig(dir string, cfg *rest.Config) error {
	content, err := Kubeconfig(cfg)
	if err != nil {
		return err
	}
	err = os.WriteFile(kubeconfigPath(dir), content, 0o600)
	return errors.Wrapf(err, "cannot write kubeconfig of %s", filepath.Base(dir))
}

func readKubeconfig(dir string) (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfigPath(dir))
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read kubeconfig of %s", filepath.Base(dir))
	}
	cfg.QPS = -1 // no limit; zero would mean client-go's default
	return cfg, nil
}
