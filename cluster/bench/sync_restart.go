package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// restart kills the provider, and starts another beside a new object.
func (b *syncBench) restart(ctx context.Context) error {
	b.provider.Kill()
	seen, err := b.service.watch(ctx, hats, "", item.there)
	if err != nil {
		return err
	}
	defer seen.close()
	begin, err := b.mark()
	if err != nil {
		return err
	}
	const phase = "restart"
	start := time.Now()
	if err := b.startProvider(); err != nil {
		return err
	}
	if err := b.workspace(0).create(ctx, hats, newHat(named(phase, 0))); err != nil {
		return err
	}
	if err := b.awaitReady(ctx); err != nil {
		return err
	}
	b.got.readiness = time.Since(start)
	down, err := seen.await(ctx, named(phase, 0))
	if err != nil {
		return err
	}
	b.got.again.ready = down.Sub(start)
	if err := b.settle(ctx); err != nil {
		return err
	}
	b.got.again.mine = func(e local.AuditEvent) bool {
		// It counts.
		return e.Name == named(phase, 0) || e.Name == b.stateOf(phase, 0) || isEvent(e) ||
			e.Resource == publishedResources.Resource
	}
	if b.got.again.traffic, err = b.since(begin); err != nil {
		return err
	}
	if b.got.again.cpu, err = b.provider.CPU(); err != nil {
		return err
	}
	b.got.again.peak, err = b.provider.PeakRSS()
	return err
}

// stateOf returns the name of the Secret in which the i-th object of a phase is remembered.
func (b *syncBench) stateOf(phase string, i int) string {
	id := objectsync.Identity{
		Primary: objectsync.Primary{
			NamespacedName: types.NamespacedName{Namespace: corev1.NamespaceDefault, Name: named(phase, i)},
			Cluster:        b.workspace(i).name,
		},
		Kind: schema.GroupKind{Group: hats.Group, Kind: "Hat"},
	}
	return id.StateName(hats.Version)
}

// others is how many objects are created beside a backlog, each when the one before has its copy.
const others = 10

// fairness starts the provider beside a backlog of objects in one workspace, and measures how long it takes to place
// objects of others when the provider has begun with them.
func (b *syncBench) fairness(ctx context.Context) error {
	const backlog, other = "backlog", "other"
	n := 2 * b.got.n
	err := each(ctx, n, func(ctx context.Context, i int) error {
		return b.consumers[0].create(ctx, hats, newHat(named(backlog, i)))
	})
	if err != nil {
		return err
	}
	seen, err := b.service.watch(ctx, hats, "", item.there)
	if err != nil {
		return err
	}
	defer seen.close()
	start := time.Now()
	if err := b.startProvider(); err != nil {
		return err
	}
	if err := seen.awaitAny(ctx); err != nil {
		return err
	}
	for i := range others {
		took, err := b.createOne(ctx, seen, other, 1+i)
		if err != nil {
			return err
		}
		b.got.others = append(b.got.others, took)
	}
	last := start
	for i := range n {
		at, err := seen.await(ctx, named(backlog, i))
		if err != nil {
			return err
		}
		if at.After(last) {
			last = at
		}
	}
	b.got.backlog = last.Sub(start)
	return nil
}
