package local

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
)

// interrupted is the exit code of a program that Ctrl-C ended, by the custom of shells.
const interrupted = 130

// A Starter starts a server and returns how to stop it. If it fails it leaves nothing to stop.
type Starter interface {
	Start(ctx context.Context) (stop func() error, err error)
}

// A StartFunc is a Starter.
type StartFunc func(ctx context.Context) (stop func() error, err error)

// Start calls f.
func (f StartFunc) Start(ctx context.Context) (stop func() error, err error) {
	return f(ctx)
}

// StartAll starts all servers at the same time and returns how to stop them, also at the same time. When one fails the
// others are stopped, and the error is that of the first.
func StartAll(ctx context.Context, servers ...Starter) (stop func() error, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stops := make([]func() error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() {
			stop, err := s.Start(ctx)
			if err != nil {
				cancel(err) // Only the first call counts.
				return
			}
			stops[i] = stop
		})
	}
	wg.Wait()
	stop = func() error { return stopAll(stops) }
	if err := context.Cause(ctx); err != nil {
		_ = stop() // Why it did not start matters more than what else goes wrong.
		return nil, err
	}
	return stop, nil
}

// stopAll leaves out nil.
func stopAll(stops []func() error) error {
	errs := make([]error, len(stops))
	var wg sync.WaitGroup
	for i, stop := range stops {
		if stop != nil {
			wg.Go(func() { errs[i] = stop() })
		}
	}
	wg.Wait()
	return kerrors.NewAggregate(errs)
}

// Main starts servers, runs m, usually a *testing.M, and stops the servers again, also on SIGINT and SIGTERM. It
// returns the code to exit with: that of m, or 1 if a server does not start or stop.
func Main(m interface{ Run() int }, servers ...Starter) int {
	ctx, ignore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer ignore()
	stop, err := StartAll(ctx, servers...)
	if err != nil {
		return fail(err)
	}
	stop = sync.OnceValue(stop)
	unhook := context.AfterFunc(ctx, func() {
		// m knows nothing of signals, and would go on against servers that are gone.
		_ = stop()
		os.Exit(interrupted)
	})
	defer unhook() // Before ignore, which ends ctx too.
	code := m.Run()
	if err := stop(); err != nil {
		return fail(err)
	}
	return code
}

func fail(err error) int {
	_, _ = fmt.Fprintln(os.Stderr, errors.WithMessage(err, "cluster/local"))
	return 1
}
