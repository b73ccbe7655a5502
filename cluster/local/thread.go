package local

import (
	"runtime"
)

// A thread starts child processes, all from one operating system thread that lives until it is closed. A child that is
// to die with its parent dies with the thread that started it:
// https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html. Left to itself, Go would end threads at times
// that have nothing to do with the child.
type thread chan func()

func newThread() thread {
	t := make(thread)
	go func() {
		// Never unlocked, so that the thread ends with this goroutine instead of going back to Go's pool.
		runtime.LockOSThread()
		for f := range t {
			f()
		}
	}()
	return t
}

// do runs f on the thread and returns what f does.
func (t thread) do(f func() error) error {
	err := make(chan error, 1)
	t <- func() { err <- f() }
	return <-err
}

// close ends the thread, and with it on Linux each child that still runs.
func (t thread) close() {
	close(t)
}
