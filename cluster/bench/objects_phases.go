package main

import (
	"context"
	"slices"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// singles is how many single Objects and single changes are measured.
	singles = 50
	// restTime is for how long nothing happens.
	restTime = 20 * time.Second

	driftStep = "drift of single ConfigMaps"
	// object begins the names of all Objects but single ones.
	object = "object"
)

// steps measure everything about Objects.
func (b *objectsBench) steps() []step {
	steps := []step{
		{"the floor: as many Objects and ConfigMaps without a provider", b.firstFloor},
		{"creating Objects with the provider", b.createAll},
		{"single new Objects", b.pickUp},
		{driftStep, b.driftAway},
		{"rest", b.takeRest},
		{"restart", b.restart},
		{"deletion of all Objects", b.deleteAll},
		{"the floor again", b.secondFloor},
		{"the chart of the documentation", b.drawChart},
	}
	if b.options.poll == 0 {
		return steps
	}
	return slices.DeleteFunc(steps, func(s step) bool { return s.says == driftStep })
}

func (b *objectsBench) firstFloor(ctx context.Context) (err error) {
	b.got.floors[0], err = b.floor(ctx, "floor-a")
	return err
}

func (b *objectsBench) secondFloor(ctx context.Context) (err error) {
	b.provider.Kill()
	// As empty as the servers were the first time.
	if err := b.clear(ctx, ""); err != nil {
		return errors.Wrap(err, "cannot clean up")
	}
	b.got.floors[1], err = b.floor(ctx, "floor-b")
	return err
}

// createAll starts the provider and creates all Objects, as fast as the floor does.
func (b *objectsBench) createAll(ctx context.Context) error {
	if err := b.connect(ctx); err != nil {
		return err
	}
	seen, err := b.control.watch(ctx, objects, "", item.ready)
	if err != nil {
		return err
	}
	b.got.create.swept, err = b.sweepAll(ctx, seen, object, func(ctx context.Context, i int) error {
		o, err := b.newObject(named(object, i), config)
		if err != nil {
			return err
		}
		return b.control.create(ctx, objects, o)
	})
	if err != nil {
		return err
	}
	if b.got.create.cpu, err = b.provider.CPU(); err != nil {
		return err
	}
	b.got.create.peak, err = b.provider.PeakRSS()
	return err
}

// deleteAll deletes all Objects but single ones.
func (b *objectsBench) deleteAll(ctx context.Context) error {
	seen, err := b.control.watch(ctx, objects, "", item.left)
	if err != nil {
		return err
	}
	b.got.remove, err = b.sweepAll(ctx, seen, object, func(ctx context.Context, i int) error {
		err := b.control.resource(objects, "").Delete(ctx, named(object, i), metav1.DeleteOptions{})
		return errors.Wrapf(err, "cannot delete Object %d", i)
	})
	return err
}

// connect starts the provider, waits until it is ready, and makes a ProviderConfig for the target.
func (b *objectsBench) connect(ctx context.Context) error {
	if err := b.startProvider(); err != nil {
		return err
	}
	if err := b.awaitReady(ctx); err != nil {
		return err
	}
	pc, secret := newConfig(config, b.target.kubeconfig)
	if err := b.control.create(ctx, secrets, secret); err != nil {
		return err
	}
	if err := b.control.create(ctx, providerConfigs, pc); err != nil {
		return err
	}
	return b.settle(ctx)
}
