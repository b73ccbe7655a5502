package wordpress

import (
	"os"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// soon is how long anything may take that must happen at once; a busy machine is slower than the software.
	soon   = 2 * time.Minute
	admins = "system:masters"
)

// Applications live on one cluster, and run on two others.
var (
	control = kube.Server{ControllerManager: true}
	north   = kube.Server{ControllerManager: true}
	south   = kube.Server{ControllerManager: true}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &control, north.WithNodes(), south.WithNodes())) }
