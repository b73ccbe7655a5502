package main

import (
	"context"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
)

// memoryRest is how long a process rests before what it holds is measured.
const memoryRest = 10 * time.Second

// A memoryBench measures what one process holds, stage after stage.
type memoryBench struct {
	*bed

	targets []*server
	configs int // ProviderConfigs so far
	now     contents
	got     []measured
}

// contents are what there is at a stage.
type contents struct {
	objects, bytes        int // and of their manifests
	sets                  int // of credentials, for all targets
	watched, watchedBytes int // resources that each set of credentials may list, and of their manifests
}

// measured is a stage and what it costs.
type measured struct {
	contents

	create held // a process that has created the new Objects
	again  held // one that has found all of them there
}

// held is what a process holds, and what it took to get there.
type held struct {
	wall      time.Duration // until all new Objects are Ready
	cpu       time.Duration // since the start of the process
	peak, rss int64         // bytes: since the start, and now
	heap      int64         // bytes: live at the last garbage collection
}

// newMemoryBench starts a control plane and the targets.
func newMemoryBench(ctx context.Context, o options) (part, error) {
	b, targets, err := newFleet(ctx, o)
	if b == nil {
		return nil, err
	}
	return &memoryBench{bed: b, targets: targets}, err
}

// steps measure each stage.
func (b *memoryBench) steps() []step {
	var steps []step
	for i, s := range b.options.stages {
		steps = append(steps, step{"stage " + s.String(), func(ctx context.Context) error {
			return b.measure(ctx, i, s)
		}})
	}
	return steps
}

// measure creates the new ProviderConfigs and Objects of a stage, kills the provider, and starts another beside a new
// Object of each ProviderConfig. Once that is Ready, the provider has read all that it watches on the target.
func (b *memoryBench) measure(ctx context.Context, i int, s stage) (err error) {
	if err := b.connect(ctx, len(b.targets)*s.sets); err != nil {
		return err
	}
	if b.provider == nil {
		if err := b.startProvider(); err != nil {
			return err
		}
		if err := b.awaitReady(ctx); err != nil {
			return err
		}
	}
	m := measured{}
	if m.create, err = b.hold(ctx, named(object, i), s); err != nil {
		return err
	}
	b.provider.Kill()
	if err := b.startProvider(); err != nil {
		return err
	}
	if m.again, err = b.hold(ctx, named("restart", i), stage{objects: b.configs}); err != nil {
		return err
	}
	b.now.sets, b.now.watched, b.now.watchedBytes = b.configs, b.now.objects*s.sets, b.now.bytes*s.sets
	m.contents = b.now
	b.got = append(b.got, m)
	return nil
}

// connect makes ProviderConfigs until there is a number of them, each with a user of its own.
func (b *memoryBench) connect(ctx context.Context, n int) error {
	first := b.configs
	b.configs = n
	return each(ctx, n-first, func(ctx context.Context, i int) error {
		i += first
		kubeconfig, err := b.targets[i%len(b.targets)].kubeconfigOf(named(user, i))
		if err != nil {
			return err
		}
		pc, secret := newConfig(named(config, i), kubeconfig)
		if err := b.control.create(ctx, secrets, secret); err != nil {
			return err
		}
		return b.control.create(ctx, providerConfigs, pc)
	})
}

// hold creates the Objects of a stage, waits until they are Ready and the provider has settled, and lets it rest.
func (b *memoryBench) hold(ctx context.Context, name string, s stage) (h held, err error) {
	seen, err := b.control.watch(ctx, objects, "", item.ready)
	if err != nil {
		return h, err
	}
	h.wall, _, err = sweep(ctx, seen, s.objects, func(ctx context.Context, i int) (string, error) {
		o, err := b.newObjectOf(s.configMap(named(name, i)), named(config, i%b.configs))
		if err != nil {
			return "", err
		}
		return o.GetName(), b.control.create(ctx, objects, o)
	})
	if err != nil {
		return h, err
	}
	o, err := b.newObjectOf(s.configMap(named(name, 0)), config)
	if err != nil {
		return h, err
	}
	b.now.objects += s.objects
	b.now.bytes += s.objects * len(o.Spec.ForProvider.Manifest.Raw)
	if err := b.settle(ctx); err != nil {
		return h, err
	}
	if err := pause(ctx, memoryRest); err != nil {
		return h, err
	}
	err = h.read(ctx, b.provider)
	progressf("%d Objects: %+v", b.now.objects, h)
	return h, err
}

// read reads what a process holds.
func (h *held) read(ctx context.Context, p *provider.Process) (err error) {
	if h.cpu, err = p.CPU(); err != nil {
		return err
	}
	if h.peak, err = p.PeakRSS(); err != nil {
		return err
	}
	if h.rss, err = p.RSS(); err != nil {
		return err
	}
	h.heap, err = liveHeap(ctx, p)
	return err
}

// liveHeap returns how many bytes the last garbage collection has left.
func liveHeap(ctx context.Context, p *provider.Process) (int64, error) {
	const metric = "go_gc_heap_live_bytes"
	all, err := p.Series(ctx)
	if err != nil {
		return 0, err
	}
	bytes, ok := all[metric]
	if !ok {
		return 0, errors.Errorf("cannot find metric %s", metric)
	}
	return int64(bytes), nil
}
