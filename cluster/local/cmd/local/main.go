// Command local runs control planes on this machine: clusters, each an etcd and a kube-apiserver, and a kcp.
//
// What up starts in a folder is there until Ctrl-C or until down is called for the same folder; the data stay for the
// next up. Kubeconfigs are beside the data. A file named ready in the folder says that all of them work.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/pkg/errors"
)

const usage = `usage:
  local up --dir DIR [--clusters NAME,NAME...] [--kcp] [--controller-manager] [--audit]
  local down --dir DIR
`

// Exit codes.
const (
	exitOK = iota
	exitFailed
	exitUsage
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, errOut io.Writer) int {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	// A second Ctrl-C ends us at once, and with us on Linux the servers.
	context.AfterFunc(ctx, restore)

	err := dispatch(ctx, args, out)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(out, usage)
		return exitOK
	case errors.As(err, new(usageError)):
		_, _ = fmt.Fprintf(errOut, "local: %v\n%s", err, usage)
		return exitUsage
	}
	_, _ = fmt.Fprintf(errOut, "local: %v\n", err)
	return exitFailed
}

func dispatch(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return usageError("say up or down")
	}
	switch args[0] {
	case "up":
		o, err := parseUp(args[1:])
		if err != nil {
			return err
		}
		return up(ctx, o, out)
	case "down":
		dir, err := parseDown(args[1:])
		if err != nil {
			return err
		}
		return down(ctx, dir, out)
	case "help", "-h", "--help":
		return flag.ErrHelp
	}
	return usageError(fmt.Sprintf("%q is neither up nor down", args[0]))
}

// A usageError says what is wrong with the arguments.
type usageError string

func (e usageError) Error() string { return string(e) }
