package kube

import (
	"flag"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2" //nolint:depguard // It is told to be silent.
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// logTail is how much of a log a failure shows, in bytes.
const logTail = 8 << 10

// ShowLog shows the end of the log of a program if the test has failed. It is for Cleanup.
func ShowLog(tb testing.TB, program, log string) {
	tb.Helper()
	if tb.Failed() && log != "" {
		tb.Logf("log of %s ends with\n%s", program, log[max(0, len(log)-logTail):])
	}
}

// setLogger sends logs of controllers to standard error for go test -v, and nowhere otherwise. A failing test says
// itself what it waited for and what it saw; logs of all that went on beside it would bury that.
func setLogger() {
	if !flag.Parsed() {
		flag.Parse() // Else it is not known yet whether there is -v.
	}
	l := logr.Discard()
	if testing.Verbose() {
		l = zap.New(zap.WriteTo(os.Stderr))
	}
	ctrl.SetLogger(l)
	klog.SetLogger(l) // client-go logs each connection that breaks when the servers stop.
}
