package composite

import (
	"os"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// Each Crossplane has a cluster of its own.
var modern, former = kube.Server{ControllerManager: true}, kube.Server{ControllerManager: true}

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &modern, &former)) }
