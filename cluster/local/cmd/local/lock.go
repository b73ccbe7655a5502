package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/pkg/errors"
)

// A folderLock is held by the one up of a folder, from beginning to end however that ends. The kernel knows which
// process holds it, so nobody has to trust a process id in a file, which may long be someone else's.
type folderLock struct {
	file *os.File
}

// whole is a lock of a whole file, for writing.
func whole() *syscall.Flock_t {
	return &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
}

func lock(dir string) (*folderLock, error) {
	f, err := os.OpenFile(lockFile(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Wrap(err, "cannot open lock")
	}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, whole()); err != nil {
		_ = f.Close()
		return nil, errors.Wrapf(err, "cannot lock %s, another up runs there", dir)
	}
	l := &folderLock{file: f}
	if err := l.write(strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		l.unlock()
		return nil, err
	}
	return l, nil
}

// write says in the file who holds the lock, for people only; see holder.
func (l *folderLock) write(s string) error {
	// Never by another descriptor: closing any one of a file gives up the lock.
	if err := l.file.Truncate(0); err != nil {
		return errors.Wrap(err, "cannot empty lock")
	}
	_, err := l.file.WriteAt([]byte(s), 0)
	return errors.Wrap(err, "cannot write lock")
}

// unlock leaves the file: another up may have opened it already, and would lock what nobody else finds.
func (l *folderLock) unlock() {
	_ = l.write("")
	_ = l.file.Close()
}

// holder returns the id of the process that holds the lock of a folder, 0 if there is none.
func holder(dir string) (int, error) {
	f, err := os.OpenFile(lockFile(dir), os.O_RDWR, 0)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, errors.Wrap(err, "cannot open lock")
	}
	defer f.Close() //nolint:errcheck // Only asked.
	l := whole()
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, l); err != nil {
		return 0, errors.Wrap(err, "cannot ask for lock")
	}
	if l.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(l.Pid), nil
}

func lockFile(dir string) string {
	return filepath.Join(dir, "local.pid")
}
