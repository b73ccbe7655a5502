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

const synopsis = "usage: bench -provider PROGRAM [-n OBJECTS] [-crds FOLDER] [-timeout DURATION] [-watch] " +
	"[-poll DURATION] [-configs PROVIDERCONFIGS] [-targets CLUSTERS] [-stages STAGES] " +
	"objects|sync|shards|memory ...\n"

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// options are what the command line says.
type options struct {
	provider string        // path of the program
	crds     string        // path of the folder of CustomResourceDefinitions
	n        int           // Objects, or objects of consumers
	timeout  time.Duration // of each part
	watch    bool          // whether Objects ask for a watch, without which provider-kubernetes keeps none
	poll     time.Duration // how often the provider polls, if that is measured in place of drift and rest
	configs  int           // ProviderConfigs that replicas share
	targets  int           // clusters that the ProviderConfigs lead to
	stages   stages        // what the memory is measured of
}

// A part is one thing to measure, on servers of its own.
type part interface {
	// steps measure, one after the other.
	steps() []step
	// report prints what has been measured.
	report(t table)
	// stop ends the servers.
	stop() error
}

// A step measures something.
type step struct {
	says string
	do   func(context.Context) error
}

// parts start what measures each part. What they return is to be stopped, also beside an error, unless it is nil.
var parts = map[string]func(context.Context, options) (part, error){
	"objects": newObjectsBench, "sync": newSyncBench, "shards": newShardsBench, "memory": newMemoryBench,
}

func main() {
	o := options{stages: stages{{objects: 1000, size: 1, sets: 1}}}
	flag.StringVar(&o.provider, "provider", "_output/bin/provider", "path of the built provider")
	flag.StringVar(&o.crds, "crds", "package/crds", "folder of the CustomResourceDefinitions")
	flag.IntVar(&o.n, "n", 1000, "how many objects")
	flag.DurationVar(&o.timeout, "timeout", 15*time.Minute, "deadline of each part")
	flag.BoolVar(&o.watch, "watch", false, "let Objects have spec.watch: true")
	flag.DurationVar(&o.poll, "poll", 0, "measure a poll at this interval in place of drift and rest")
	flag.IntVar(&o.configs, "configs", 40, "how many ProviderConfigs replicas share")
	flag.IntVar(&o.targets, "targets", 1, "how many clusters the ProviderConfigs lead to, for shards and memory")
	flag.Var(&o.stages, "stages", "what memory measures, one after the other: new Objects x KB of each manifest x "+
		"sets of credentials for each cluster, such as 1000x1x1,100x100x1,0x0x3")
	flag.Usage = func() { fmt.Fprint(os.Stderr, synopsis) }
	flag.Parse()
	known := flag.NArg() > 0 && o.n > 0 && o.configs > 0 && o.targets > 0
	for _, name := range flag.Args() {
		known = known && parts[name] != nil
	}
	if !known {
		flag.Usage()
		os.Exit(exitUsage)
	}
	for _, name := range flag.Args() {
		if err := run(name, o); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", name, err)
			os.Exit(exitFailed)
		}
	}
}

// run measures a part and prints what it has measured.
func run(name string, o options) (rerr error) {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, errors.Errorf("not done after %s", o.timeout))
	defer cancel()

	if _, err := os.Stat(o.provider); err != nil {
		return errors.Wrap(err, "cannot find the provider, run make build")
	}
	ctrl.SetLogger(logr.Discard()) // envtest logs what it installs.
	p, err := parts[name](ctx, o)
	if p != nil {
		defer func() {
			if err := p.stop(); rerr == nil {
				rerr = err
			}
		}()
	}
	if err != nil {
		return err
	}
	load := loadAverage()
	if err := measure(ctx, p.steps()); err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			return errors.Wrap(cause, err.Error())
		}
		return err
	}
	return printReport(os.Stdout, fmt.Sprintf("%s, load average of the machine %s to %s", name, load, loadAverage()),
		p.report)
}

func measure(ctx context.Context, steps []step) error {
	for _, s := range steps {
		progressf("%s", s.says)
		if err := s.do(ctx); err != nil {
			return errors.Wrap(err, s.says)
		}
	}
	return nil
}

// progressf says what happens now, with the time.
func progressf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}
