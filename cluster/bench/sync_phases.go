package main

import (
	"context"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The objects that stand, and single ones.
const (
	standing = "hat"
	single   = "single"
)

// createAll starts the provider and creates all objects, as fast as the floor does.
func (b *syncBench) createAll(ctx context.Context) (err error) {
	if err := b.startProvider(); err != nil {
		return err
	}
	if err := b.awaitReady(ctx); err != nil {
		return err
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	seen, err := b.service.watch(ctx, hats, "", item.there)
	if err != nil {
		return err
	}
	b.got.create, err = b.sweep(ctx, seen, func(ctx context.Context, i int) error {
		return b.workspace(i).create(ctx, hats, newHat(named(standing, i)))
	})
	if err != nil {
		return err
	}
	if b.got.cpu, err = b.provider.CPU(); err != nil {
		return err
	}
	b.got.peak, err = b.provider.PeakRSS()
	return err
}

// statusAll does what an operator does to all copies.
func (b *syncBench) statusAll(ctx context.Context) error {
	seen, err := b.all.watch(ctx, hats, "", item.issued)
	if err != nil {
		return err
	}
	b.got.status, err = b.sweep(ctx, seen, func(ctx context.Context, i int) error { return b.issue(ctx, i, standing) })
	return err
}

// issue gives the copy of an object a status.
func (b *syncBench) issue(ctx context.Context, i int, phase string) error {
	name := named(phase, i)
	_, err := b.below(i).Patch(ctx, name, types.MergePatchType, issuedPatch, metav1.PatchOptions{}, "status")
	return errors.Wrapf(err, "cannot patch status of %q", name)
}

// updateAll changes all objects.
func (b *syncBench) updateAll(ctx context.Context) error {
	seen, err := b.service.watch(ctx, hats, "", item.sized)
	if err != nil {
		return err
	}
	change := []byte(`{"spec":{"size":"` + sizeNext + `"}}`)
	b.got.update, err = b.sweep(ctx, seen, func(ctx context.Context, i int) error {
		_, err := b.workspace(i).resource(hats, corev1.NamespaceDefault).Patch(ctx, named(standing, i),
			types.MergePatchType, change, metav1.PatchOptions{})
		return errors.Wrapf(err, "cannot change object %d", i)
	})
	return err
}

// deleteAll deletes all objects.
func (b *syncBench) deleteAll(ctx context.Context) error {
	seen, err := b.all.watch(ctx, hats, "", item.left)
	if err != nil {
		return err
	}
	b.got.end, err = b.sweep(ctx, seen, func(ctx context.Context, i int) error {
		err := b.workspace(i).resource(hats, corev1.NamespaceDefault).Delete(ctx, named(standing, i),
			metav1.DeleteOptions{})
		return errors.Wrapf(err, "cannot delete object %d", i)
	})
	return err
}

// sweep does something to all objects, and waits until the provider has settled.
func (b *syncBench) sweep(ctx context.Context, seen *sighting, do func(context.Context, int) error) (swept, error) {
	return b.sweepAll(ctx, seen, standing, do)
}

// singles creates single objects and gives their copies a status, each when the one before is done.
func (b *syncBench) singles(ctx context.Context) error {
	down, err := b.service.watch(ctx, hats, "", item.there)
	if err != nil {
		return err
	}
	defer down.close()
	up, err := b.all.watch(ctx, hats, "", item.issued)
	if err != nil {
		return err
	}
	defer up.close()
	for i := range singles {
		took, err := b.createOne(ctx, down, single, i)
		if err != nil {
			return err
		}
		b.got.down = append(b.got.down, took)
		begin := time.Now()
		if err := b.issue(ctx, i, single); err != nil {
			return err
		}
		seen, err := up.await(ctx, named(single, i))
		if err != nil {
			return err
		}
		b.got.up = append(b.got.up, seen.Sub(begin))
	}
	return b.settle(ctx)
}

// createOne creates the i-th object of a phase and returns how long it takes until its copy is there.
func (b *syncBench) createOne(ctx context.Context, down *sighting, phase string, i int) (time.Duration, error) {
	begin := time.Now()
	if err := b.workspace(i).create(ctx, hats, newHat(named(phase, i))); err != nil {
		return 0, err
	}
	at, err := down.await(ctx, named(phase, i))
	return at.Sub(begin), err
}
