package main

import (
	"context"
	"io"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

const (
	// downTimeout is longer than up takes to stop, even if it has to kill its servers.
	downTimeout  = 90 * time.Second
	pollInterval = 50 * time.Millisecond
)

// down asks the up of a folder to stop, and returns when that has ended. It is no error if there is none.
func down(ctx context.Context, dir string, out io.Writer) error {
	pid, err := holder(dir)
	if err != nil {
		return err
	}
	if pid == 0 {
		sayf(out, "nothing runs in %s", dir)
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return errors.Wrapf(err, "cannot signal process %d", pid)
	}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	for {
		now, err := holder(dir)
		if err != nil {
			return err
		}
		if now != pid {
			sayf(out, "stopped")
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Errorf("process %d still runs", pid)
		case <-time.After(pollInterval):
		}
	}
}
