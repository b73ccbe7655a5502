package local

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/pkg/errors"
)

// backupSuffix is added to the name of a folder with the data of an etcd for that of its backup.
const backupSuffix = "-backup"

// kcpEtcdDir is where kcp keeps the data of its embedded etcd, below its root directory.
const kcpEtcdDir = "etcd-server"

// Backup copies the data of etcd as they are now, in place of an earlier backup. The API server goes on.
func (c *Cluster) Backup() error {
	pid, ok := c.etcd.pid()
	if !ok {
		return errors.New("cannot back up etcd: it does not run")
	}
	return backup(pid, filepath.Join(c.o.Dir, etcdDir))
}

// Restore kills the API server and etcd, as a crash that needs a restore does, puts the data of the last Backup in
// place of the present ones, and starts both again, with the same addresses and users. Its resource versions are those
// of the backup.
func (c *Cluster) Restore(ctx context.Context) error {
	c.apiServer.kill()
	c.etcd.kill()
	if err := c.StopAPIServer(); err != nil {
		return err
	}
	if err := c.etcd.stop(c.plane.Etcd.Stop); err != nil {
		return err
	}
	if err := restore(filepath.Join(c.o.Dir, etcdDir)); err != nil {
		return err
	}
	if err := c.etcd.start(ctx, c.thread, c.plane.Etcd.Start); err != nil {
		return err
	}
	return c.StartAPIServer(ctx)
}

// Backup copies the data of kcp as they are now, in place of an earlier backup.
func (k *KCP) Backup() error {
	return backup(k.program.process.cmd.Process.Pid, filepath.Join(k.o.Dir, kcpEtcdDir))
}

// Restore kills kcp, puts the data of the last Backup in place of the present ones, and starts it again, with the same
// addresses and users.
func (k *KCP) Restore(ctx context.Context) error {
	if err := k.program.process.cmd.Process.Kill(); err != nil {
		return errors.Wrap(err, "cannot kill kcp")
	}
	if err := k.StopServer(); err != nil {
		return err
	}
	if err := restore(filepath.Join(k.o.Dir, kcpEtcdDir)); err != nil {
		return err
	}
	return k.StartServer(ctx)
}

// Bump makes the last Backup one whose resource versions are higher than all that kcp has given out, and from which no
// watch goes on, as etcd recommends it for a restore. What was written just before the Backup is not in it.
func (k *KCP) Bump(ctx context.Context) error {
	etcdutl, err := Binary("etcdutl")
	if err != nil {
		return err
	}
	dir := filepath.Join(k.o.Dir, kcpEtcdDir) + backupSuffix
	member, bumped := filepath.Join(dir, "member"), dir+"-bumped"
	cmd := exec.CommandContext(ctx, etcdutl, "snapshot", "restore", //nolint:gosec // A program of .tools/bin.
		filepath.Join(member, "snap", "db"),
		"--data-dir="+bumped, "--skip-hash-check", "--bump-revision=1000000000", "--mark-compacted")
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Wrapf(err, "cannot restore backup of etcd: %s", out)
	}
	if err := os.RemoveAll(member); err != nil {
		return errors.Wrap(err, "cannot remove old backup")
	}
	if err := os.Rename(filepath.Join(bumped, "member"), member); err != nil {
		return errors.Wrap(err, "cannot replace backup")
	}
	return errors.Wrap(os.RemoveAll(bumped), "cannot remove old backup")
}

// backup copies the data of a process, which stands still meanwhile. To etcd the copy looks like its data after a
// crash.
func backup(pid int, dir string) error {
	if err := os.RemoveAll(dir + backupSuffix); err != nil {
		return errors.Wrap(err, "cannot remove old backup")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return errors.Wrap(err, "cannot freeze etcd")
	}
	err := os.CopyFS(dir+backupSuffix, os.DirFS(dir))
	if cerr := syscall.Kill(pid, syscall.SIGCONT); cerr != nil {
		return errors.Wrap(cerr, "cannot thaw etcd")
	}
	return errors.Wrap(err, "cannot copy data of etcd")
}

// restore replaces data by their backup, which stays.
func restore(dir string) error {
	if _, err := os.Stat(dir + backupSuffix); err != nil {
		return errors.Wrap(err, "cannot find backup of etcd")
	}
	if err := os.RemoveAll(dir); err != nil {
		return errors.Wrap(err, "cannot remove data of etcd")
	}
	return errors.Wrap(os.CopyFS(dir, os.DirFS(dir+backupSuffix)), "cannot restore data of etcd")
}
