// Command registry runs a command beside a registry on loopback, whose address the command gets as REGISTRY, and prints
// what the command has pushed, each name with its digest. So a digest is known before anything is pushed elsewhere.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/pkg/errors"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		s := &http.Server{
			Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: time.Minute,
		}
		go func() { _ = s.Serve(l) }() // It ends with the program.
		err = run(l.Addr().String(), os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

// run runs a command with a registry, and prints what is in that afterwards.
func run(host string, command []string) error {
	c := exec.Command(command[0], command[1:]...) //nolint:gosec // Callers choose the command.
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), "REGISTRY="+host), os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return errors.Wrapf(err, "cannot run %s", command[0])
	}
	repositories, err := crane.Catalog(host)
	if err != nil {
		return errors.Wrap(err, "cannot list what was pushed")
	}
	slices.Sort(repositories)
	for _, r := range repositories {
		tags, err := crane.ListTags(host + "/" + r)
		if err != nil {
			return errors.Wrap(err, "cannot list tags")
		}
		for _, tag := range tags {
			digest, err := crane.Digest(host + "/" + r + ":" + tag)
			if err != nil {
				return errors.Wrap(err, "cannot get digest")
			}
			fmt.Printf("%s:%s@%s\n", r, tag, digest)
		}
	}
	return nil
}
