package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// sharing is what is measured of a number of replicas.
type sharing struct {
	replicas []replicated
	start    time.Time
	served   time.Duration // from the start until a change through each ProviderConfig is applied
	settled  time.Duration // from the start until the last request
	requests tally         // at rest
	pause    time.Duration // from the kill of a replica until a change in its slot is applied
	beside   time.Duration // the same in another slot
}

// createAll makes all Objects, through one process.
func (b *shardsBench) createAll(ctx context.Context) error {
	err := each(ctx, b.options.configs, func(ctx context.Context, i int) error {
		kubeconfig, err := b.targetOf(i).kubeconfigOf(named(user, i))
		if err != nil {
			return err
		}
		pc, secret := newConfig(b.configOf(i), kubeconfig)
		if err := b.control.create(ctx, secrets, secret); err != nil {
			return err
		}
		return b.control.create(ctx, providerConfigs, pc)
	})
	if err != nil {
		return err
	}
	if err := b.startReplica(1); err != nil {
		return err
	}
	seen, err := b.control.watch(ctx, objects, "", item.ready)
	if err != nil {
		return err
	}
	_, b.create, err = sweep(ctx, seen, b.options.n, func(ctx context.Context, i int) (string, error) {
		o, err := b.newObject(named(object, i), b.configOf(i))
		if err != nil {
			return "", err
		}
		return o.GetName(), b.control.create(ctx, objects, o)
	})
	if err != nil {
		return err
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	return b.stopReplicas()
}

// measure starts a number of replicas after a change through each ProviderConfig, and lets them rest.
func (b *shardsBench) measure(ctx context.Context, number int, got *sharing) (err error) {
	begin, err := b.mark()
	if err != nil {
		return err
	}
	if err := b.restart(ctx, number, got); err != nil {
		return err
	}
	if err := b.takeStock(begin, got); err != nil {
		return err
	}
	if err := b.takeRest(ctx, got); err != nil {
		return err
	}
	for _, r := range b.replicas {
		got.replicas = append(got.replicas, r.got)
	}
	if number == shards {
		return nil // They go on.
	}
	return b.stopReplicas()
}

// restart changes one Object of each ProviderConfig while no replica runs, starts a number of replicas, and waits until
// all is settled.
func (b *shardsBench) restart(ctx context.Context, number int, got *sharing) error {
	value := fmt.Sprintf("restart-%d", b.started)
	seen, err := b.watchValue(ctx, value)
	if err != nil {
		return err
	}
	defer seen.close()
	n := min(b.options.configs, b.options.n)
	if err := each(ctx, n, func(ctx context.Context, i int) error { return b.change(ctx, i, value) }); err != nil {
		return err
	}
	got.start = time.Now()
	for range number {
		if err := b.startReplica(number); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, r := range b.replicas {
		go r.awaitEnd(ctx, cancel)
	}
	for i := range n {
		at, err := seen[b.targetOf(i)].await(ctx, named(object, i))
		if err != nil {
			return err
		}
		got.served = max(got.served, at.Sub(got.start))
	}
	progressf("%d changes are applied %.1fs after the start of %d", n, got.served.Seconds(), number)
	return b.settle(ctx)
}

// awaitEnd cancels what waits for a replica that has ended.
func (r *replica) awaitEnd(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case <-r.Exited():
		cancel(errors.Errorf("replica %s has ended: %s", r.user, r.Log()))
	case <-ctx.Done():
	}
}

// sightings are watches, one of each target.
type sightings map[*server]*sighting

func (s sightings) close() {
	for _, g := range s {
		g.close()
	}
}

// watchValue notes when each ConfigMap gets a value.
func (b *shardsBench) watchValue(ctx context.Context, value string) (sightings, error) {
	all := sightings{}
	for _, target := range b.targets {
		seen, err := target.watch(ctx, configMaps, namespace,
			func(i item) bool { return !i.gone && i.Data[driftKey] == value })
		if err != nil {
			all.close()
			return nil, err
		}
		all[target] = seen
	}
	return all, nil
}

// change gives the ConfigMap of the i-th Object another value.
func (b *shardsBench) change(ctx context.Context, i int, value string) error {
	patch := fmt.Appendf(nil, `{"spec":{"forProvider":{"manifest":{"data":{%q:%q}}}}}`, driftKey, value)
	_, err := b.control.resource(objects, "").Patch(ctx, named(object, i), types.MergePatchType, patch,
		metav1.PatchOptions{})
	return errors.Wrapf(err, "cannot change Object %q", named(object, i))
}

// kill kills a replica, which another one replaces at once, and changes an Object in its slot and one in another.
func (b *shardsBench) kill(ctx context.Context) error {
	const value = "killed"
	seen, err := b.watchValue(ctx, value)
	if err != nil {
		return err
	}
	defer seen.close()
	killed, other := b.replicas[0], b.replicas[1]
	if len(killed.mine) == 0 || len(other.mine) == 0 {
		return errors.New("cannot kill a replica: it, or another one, has no ProviderConfig")
	}
	begin := time.Now()
	killed.Kill()
	if err := b.startReplica(shards); err != nil {
		return err
	}
	if b.shared.beside, err = b.changeOne(ctx, seen, other.mine[0], value, begin); err != nil {
		return err
	}
	b.shared.pause, err = b.changeOne(ctx, seen, killed.mine[0], value, begin)
	return err
}

// changeOne changes the i-th Object, and returns how long after a time that is applied.
func (b *shardsBench) changeOne(ctx context.Context, seen sightings, i int, value string,
	begin time.Time,
) (time.Duration, error) {
	if err := b.change(ctx, i, value); err != nil {
		return 0, err
	}
	at, err := seen[b.targetOf(i)].await(ctx, named(object, i))
	return at.Sub(begin), err
}
