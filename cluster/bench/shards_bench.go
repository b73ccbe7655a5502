package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
)

// shards is how many replicas share the work.
const shards = 3

// A shardsBench measures replicas that share the work. Each ProviderConfig is a user of its own on one of the targets.
type shardsBench struct {
	*bed

	targets  []*server
	started  int // replicas so far
	replicas []*replica
	create   durations // until Ready, of each Object
	alone    sharing   // one process
	shared   sharing   // as many as there are shards
}

// A replica is a process, and what is measured of it.
type replica struct {
	*provider.Process

	user string // on the control plane
	mine []int  // the numbers of the ProviderConfigs that it looks after
	got  replicated
}

// newShardsBench starts a control plane and the targets.
func newShardsBench(ctx context.Context, o options) (part, error) {
	b, targets, err := newFleet(ctx, o)
	if b == nil {
		return nil, err
	}
	return &shardsBench{bed: b, targets: targets}, err
}

// steps measure one process and then several.
func (b *shardsBench) steps() []step {
	return []step{
		{"creating ProviderConfigs and Objects with one process", b.createAll},
		{"one process", func(ctx context.Context) error { return b.measure(ctx, 1, &b.alone) }},
		{"several replicas", func(ctx context.Context) error { return b.measure(ctx, shards, &b.shared) }},
		{"a replica is killed", b.kill},
	}
}

// stop ends the replicas, too.
func (b *shardsBench) stop() error {
	for _, r := range b.replicas {
		r.Kill()
	}
	return b.bed.stop()
}

// startReplica starts a replica of a number that share the work.
func (b *shardsBench) startReplica(number int) error {
	b.started++
	r := &replica{user: fmt.Sprintf("%s-%d", user, b.started)}
	kubeconfig, err := b.control.kubeconfigOf(r.user)
	if err != nil {
		return err
	}
	r.Process, err = provider.Start(provider.Options{
		Binary: b.options.provider, Dir: filepath.Join(b.dir, r.user), Kubeconfig: kubeconfig,
		Args: []string{"--leader-election", "--shards=" + strconv.Itoa(number)},
	})
	if err == nil {
		b.replicas = append(b.replicas, r)
	}
	return err
}

// stopReplicas ends all replicas, which give up their Leases.
func (b *shardsBench) stopReplicas() error {
	for _, r := range b.replicas {
		if err := r.Stop(); err != nil {
			return errors.Wrap(err, r.user)
		}
	}
	b.replicas = nil
	return nil
}

// configOf returns the ProviderConfig of the i-th Object.
func (b *shardsBench) configOf(i int) string { return named(config, i%b.options.configs) }

// targetOf returns the target of the i-th Object.
func (b *shardsBench) targetOf(i int) *server { return b.targets[i%b.options.configs%len(b.targets)] }
