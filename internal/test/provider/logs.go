package provider

import (
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// setLogger sets the logger of the process, which controller-runtime lets nobody set twice: standard error for go test -v and none
// otherwise. A failing test says itself what it waited for and what it saw, and logs of all that went on beside it would bury that.
var setLogger = sync.OnceFunc(func() {
	l := logr.Discard()
	if testing.Verbose() {
		l = zap.New(zap.WriteTo(os.Stderr))
	}
	ctrl.SetLogger(l)
})
