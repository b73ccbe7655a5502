package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A command is this program, running.
type command struct {
	cmd  *exec.Cmd
	out  *syncBuffer
	done chan struct{}
}

func start(t *testing.T, args ...string) *command {
	t.Helper()
	c := &command{cmd: exec.Command(os.Args[0], args...), out: &syncBuffer{}, done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), asCommand+"=1")
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.done)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		<-c.done
	})
	return c
}

// awaitEnd returns when the command has ended, which it must do with a code, -1 if killed, and some output.
func (c *command) awaitEnd(t *testing.T, code int, output string) {
	t.Helper()
	select {
	case <-c.done:
	case <-time.After(endTimeout):
		t.Fatalf("%v does not end: %s", c.cmd.Args, c.out)
	}
	if got := c.cmd.ProcessState.ExitCode(); got != code || !strings.Contains(c.out.String(), output) {
		t.Errorf("%v: want exit code %d and output with %q, got %d and %s", c.cmd.Args, code, output, got, c.out)
	}
}

func (c *command) awaitReady(t *testing.T, dir string) {
	t.Helper()
	c.until(t, "ready", func() bool {
		_, err := os.Stat(filepath.Join(dir, "ready"))
		return err == nil
	})
}

func (c *command) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(pollInterval) {
		if ok() {
			return
		}
		select {
		case <-c.done:
			t.Fatalf("%v ended before %s: %s", c.cmd.Args, what, c.out)
		default:
		}
	}
	t.Fatalf("%v: no %s: %s", c.cmd.Args, what, c.out)
}

// processes returns those that have dir among their arguments, as all servers have, without commands that are about to
// end.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-ww", "-o", "pid=,args=").Output()
	if err != nil {
		t.Fatalf("cannot list processes: %v", err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, dir) && !strings.Contains(line, os.Args[0]) {
			found = append(found, line)
		}
	}
	return found
}

func assertNoProcess(t *testing.T, dir string) {
	t.Helper()
	if found := processes(t, dir); len(found) > 0 {
		t.Errorf("processes left:\n%s", strings.Join(found, ""))
	}
}

// A syncBuffer is written by a command while tests read it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
