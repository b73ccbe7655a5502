package guides

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

const (
	admins = "system:masters"
	// user is the user of the provider on the target.
	user = "provider"
)

// top is the folder of the sources.
var top = filepath.Join("..", "..", "..")

var (
	target     = kube.Server{ControllerManager: true}
	workspaces kcp.Server
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &target, &workspaces)) }

// A desk is where somebody follows a guide: in the folder of the sources, with a control plane that the provider serves
// and nothing else uses, and remote.kubeconfig, a kubeconfig of the target.
type desk struct {
	guide.Shell

	control *kube.Server
	c, tc   client.Client // of the control plane and the target, as administrators
	ran     int           // blocks of a guide
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := idleDesk(t)
	d.start(t, provider.Options{})
	return d
}

// start starts a provider.
func (d *desk) start(t *testing.T, o provider.Options) *provider.Process {
	t.Helper()
	return program.Start(t, d.control.User(t, "administrator", admins), o)
}

// idleDesk returns a desk whose provider is not running yet.
func idleDesk(t *testing.T) *desk {
	t.Helper()
	control := &kube.Server{ControllerManager: true}
	kube.StartServer(t, control)
	d := &desk{control: control, c: control.Client(t, apis.AddToScheme), tc: target.Client(t)}
	d.Shell = guide.NewShell(t, control.Config(), filepath.Join(top, "examples"), filepath.Join(top, "package"))
	d.Write(t, "remote.kubeconfig", kube.Kubeconfig(t, target.User(t, user, admins)))
	d.Run(t, "kubectl apply -f package/crds")
	return d
}
