package local

import (
	"context"
	"os"
	"time"

	"github.com/pkg/errors"
)

// readyTimeout is five times what an idle machine needs for a kcp with an empty folder.
const readyTimeout = 120 * time.Second

// A Program runs one of BinDir with arguments of the caller's choice, such as a part of a kcp of several shards. Set
// its fields before Start; callers close it.
type Program struct {
	// Dir is the working directory, made if it is not there, with the log. It is absolute. Required.
	Dir string
	// Name is that of the program in BinDir. Required.
	Name string
	// Args are what it is started with.
	Args []string
	// Ready returns nil when the program is ready. Required.
	Ready func(context.Context) error

	thread  thread
	ports   []*port
	process *process
}

// Port returns a port on loopback on which nothing listens. Others of this package are not given it until Close.
func (p *Program) Port() (string, error) {
	reserved, err := reservePort()
	if err != nil {
		return "", err
	}
	p.ports = append(p.ports, reserved)
	return reserved.String(), nil
}

// Start returns when the program is ready. Context ctx ends the start, not the program. After Stop it may be called
// again.
func (p *Program) Start(ctx context.Context) (err error) {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return errors.Wrapf(err, "cannot make folder of %s", p.Name)
	}
	if p.thread == nil {
		p.thread = newThread()
	}
	if p.process, err = p.thread.spawn(p.Dir, p.Name, p.Args...); err != nil {
		return err
	}
	return p.process.await(ctx, readyTimeout, p.Ready)
}

// Stop ends the program and returns when it is gone. It may be called again.
func (p *Program) Stop() error { return p.process.stop() }

// Close is Stop for good.
func (p *Program) Close() error {
	err := p.Stop()
	for _, reserved := range p.ports {
		reserved.release()
	}
	if p.thread != nil {
		p.thread.close()
	}
	return err
}
