package main

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// kcpName is the name of the folder and the kubeconfig of kcp, and thus of no cluster.
const kcpName = "kcp"

// A clusterName is also that of a folder, a file and a line of output.
var clusterName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

type upOptions struct {
	dir               string
	clusters          []string
	kcp               bool
	controllerManager bool
	audit             bool
}

func parseUp(args []string) (upOptions, error) {
	var o upOptions
	var clusters string
	f := flagSet("up", &o.dir)
	f.StringVar(&clusters, "clusters", "control,remote", "")
	f.BoolVar(&o.kcp, "kcp", false, "")
	f.BoolVar(&o.controllerManager, "controller-manager", false, "")
	f.BoolVar(&o.audit, "audit", false, "")
	if err := parse(f, args, &o.dir); err != nil {
		return o, err
	}
	if clusters != "" {
		o.clusters = strings.Split(clusters, ",")
	}
	for i, name := range o.clusters {
		if !clusterName.MatchString(name) || name == kcpName || slices.Contains(o.clusters[:i], name) {
			return o, usageError(fmt.Sprintf("cannot name a cluster %q", name))
		}
	}
	if len(o.clusters) == 0 && !o.kcp {
		return o, usageError("nothing to start")
	}
	return o, nil
}

func parseDown(args []string) (dir string, err error) {
	err = parse(flagSet("down", &dir), args, &dir)
	return dir, err
}

func flagSet(name string, dir *string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard) // main prints errors and usage.
	f.StringVar(dir, "dir", "", "")
	return f
}

func parse(f *flag.FlagSet, args []string, dir *string) error {
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return usageError(err.Error())
	}
	if f.NArg() > 0 {
		return usageError(fmt.Sprintf("unexpected argument %q", f.Arg(0)))
	}
	if *dir == "" {
		return usageError("--dir is required")
	}
	return nil
}
