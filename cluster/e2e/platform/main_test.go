package platform

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

const (
	admins = "system:masters"
	// user is the ServiceAccount of the provider, as examples/install names it.
	user = "system:serviceaccount:crossplane-system:provider-kcp"
	node = "kwok"
)

// The workspaces of the guide: the platform's, and those of consumers.
const (
	platformPath = "root:platform"
	teamA        = "root:eu:team-a"
	teamB        = "root:eu:team-b"
	teamC        = "root:us:team-c"
)

// top is the folder of the sources.
var top = filepath.Join("..", "..", "..")

var (
	control    = kube.Server{ControllerManager: true}
	target     = kube.Server{ControllerManager: true}
	workspaces kcp.Server
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &control, target.WithNodes(), &workspaces)) }

// A bed is a platform, as far as the guide takes it for granted.
type bed struct {
	guide.Shell

	whole *testing.T    // which lasts as long as the bed
	c, tc client.Client // of the control plane and the target, as administrators

	second consumer // whose workspace is deleted while the target is down
	// isTeamBGone reports whether the workspace of the second consumer is gone.
	isTeamBGone func() (bool, string)
}

// newBed starts what the guide takes for granted: Crossplane with its functions, the provider, and workspaces.
func newBed(t *testing.T) *bed {
	t.Helper()
	crossplane.Start(t, local.StartCrossplane, control.Config())
	control.InstallCRDs(t, filepath.Join(top, "package", "crds"))
	b := &bed{whole: t, c: control.Client(t, apis.AddToScheme), tc: target.Client(t)}
	crossplane.RunFunctions(t, b.c, crossplane.StartRegistry(t))
	if err := b.tc.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}); err != nil {
		t.Fatal(err)
	}
	kube.RunScheduler(t, target.User(t, "scheduler", admins), node)
	b.prepareShell(t)
	b.Run(t, "kubectl apply -f granted.yaml -f examples/rbac/usual.yaml")
	program.Start(t, control.User(t, user), provider.Options{Args: []string{"--debug"}})
	return b
}

// prepareShell makes the folder in which the guide begins: the examples, and a kubeconfig for the target and each
// workspace.
func (b *bed) prepareShell(t *testing.T) {
	t.Helper()
	b.Shell = guide.NewShell(t, control.Config(), filepath.Join(top, "examples"),
		filepath.Join("testdata", "granted.yaml"))
	for name, cfg := range map[string]*rest.Config{
		"eu": target.User(t, "eu", admins),
		"platform": kcp.ServiceAccount(t, workspaces.WorkspaceAt(t, platformPath), "platform",
			kcp.CreatorRules("platform.example.com")...),
		"team-a": workspaces.WorkspaceAt(t, teamA),
		"team-b": workspaces.WorkspaceAt(t, teamB),
		"team-c": workspaces.WorkspaceAt(t, teamC),
	} {
		b.Write(t, name+".kubeconfig", kube.Kubeconfig(t, cfg))
	}
}
