package local

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
)

// ProgramOptions say how to start a Program.
type ProgramOptions struct {
	// Dir is the working directory, made if it is not there, with the log. Required.
	Dir string
	// Name is that of the program in BinDir. Required.
	Name string
	// Args are what it is started with.
	Args []string
	// Ready is a server that answers 200 at the path ReadyPath when the program is ready. Required.
	Ready     *rest.Config
	ReadyPath string
}

// A Program is one of BinDir, run with arguments of the caller's choice, such as a part of a kcp of several shards.
type Program struct {
	o       ProgramOptions
	thread  thread
	process *process
}

// StartProgram returns when the program is ready. Context ctx ends the start, not the program; callers stop it.
func StartProgram(ctx context.Context, o ProgramOptions) (*Program, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil || o.Dir == "" {
		return nil, errors.Errorf("cannot use folder %q for %s", o.Dir, o.Name)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, errors.Wrapf(err, "cannot make folder of %s", o.Name)
	}
	o.Dir = dir
	p := &Program{o: o, thread: newThread()}
	if err := p.Start(ctx); err != nil {
		_ = p.Stop() // Why it did not start matters more.
		return nil, err
	}
	return p, nil
}

// Start starts the program again after Stop, with the same arguments.
func (p *Program) Start(ctx context.Context) (err error) {
	check, err := answers(p.o.Ready, p.o.ReadyPath)
	if err != nil {
		return err
	}
	if p.process, err = p.thread.spawn(p.o.Dir, p.o.Name, p.o.Args...); err != nil {
		return err
	}
	return p.process.await(ctx, kcpTimeout, check)
}

// Stop ends the program and returns when it is gone. It may be called again.
func (p *Program) Stop() error { return p.process.stop() }

// ReservePort finds a port on loopback on which nothing listens, for a Program. Others are not given it until release
// is called.
func ReservePort() (number string, release func(), err error) {
	p, err := reservePort()
	if err != nil {
		return "", nil, err
	}
	return p.String(), p.release, nil
}
