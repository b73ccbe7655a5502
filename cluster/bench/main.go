package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"
)

const synopsis = "usage: bench -provider PROGRAM [-n OBJECTS] [-crds FOLDER] [-timeout DURATION] objects\n"

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// options are what the command line says.
type options struct {
	provider string        // path of the program
	crds     string        // path of the folder of CustomResourceDefinitions
	n        int           // Objects
	timeout  time.Duration // of all of it
}

func main() {
	o := options{}
	flag.StringVar(&o.provider, "provider", "_output/bin/provider", "path of the built provider")
	flag.StringVar(&o.crds, "crds", "package/crds", "folder of the CustomResourceDefinitions")
	flag.IntVar(&o.n, "n", 1000, "how many Objects")
	flag.DurationVar(&o.timeout, "timeout", 15*time.Minute, "deadline of all of it")
	flag.Usage = func() { fmt.Fprint(os.Stderr, synopsis) }
	flag.Parse()
	if flag.NArg() != 1 || flag.Arg(0) != "objects" || o.n < 1 {
		flag.Usage()
		os.Exit(exitUsage)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(exitFailed)
	}
}

func run(o options) (rerr error) {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, errors.Errorf("not done after %s", o.timeout))
	defer cancel()

	if _, err := os.Stat(o.provider); err != nil {
		return errors.Wrap(err, "cannot find the provider, run make build")
	}
	ctrl.SetLogger(logr.Discard()) // envtest logs what it installs.
	b, err := startBed(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if err := b.stop(); rerr == nil {
			rerr = err
		}
	}()
	r, err := benchObjects(ctx, b, o)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			return errors.Wrap(cause, err.Error())
		}
		return err
	}
	return r.print(os.Stdout)
}

// progressf says what happens now, with the time.
func progressf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}
